import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getJson } from "./stack-client.ts";

/** Where `pnpm stack` says that a test stack stays up for many runs. */
function sharedStackFile(local: string): string {
  return join(local, "test-stack.json");
}

/** The URL of the test stack that `pnpm stack` keeps up, undefined where there is none. */
export async function sharedStackUrl(local: string): Promise<string | undefined> {
  const file = sharedStackFile(local);
  if (!existsSync(file)) return undefined;
  try {
    const { url } = JSON.parse(readFileSync(file, "utf8")) as { url: string };
    await getJson(url);
    return url;
  } catch {
    // Left behind by one that was killed.
    rmSync(file, { force: true });
    return undefined;
  }
}

/** Lets test runs find a stack. */
export function announceSharedStack(local: string, url: string): void {
  writeFileSync(sharedStackFile(local), JSON.stringify({ url }));
}

export function withdrawSharedStack(local: string): void {
  rmSync(sharedStackFile(local), { force: true });
}
