import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { localFolder } from "../stack/folders.ts";
import { removePostgresData } from "../stack/postgres-programs.ts";
import { identify } from "../stack/process-identity.ts";
import { endStaleProcesses } from "../stack/processes.ts";
import { getJson, TEST_STACK_URL } from "./stack-client.ts";
import { startTestStack, type TestStack } from "./test-stack.ts";

/** Where `pnpm stack` says that a stack stays up for many runs. */
export const SHARED_STACK_FILE = "test-stack.json";

const RUN_FOLDER = /^test-(\d+)$/;

let stack: TestStack | undefined;

/** Jest's globalSetup: runs once, before all test files, in jest's own process. */
export default async function setUp(): Promise<void> {
  const local = localFolder();
  await removeDeadRuns(local);
  const shared = await sharedStackUrl(local);
  if (shared !== undefined) {
    process.env[TEST_STACK_URL] = shared;
    return;
  }
  stack = await startTestStack(join(local, `test-${process.pid}`));
  process.env[TEST_STACK_URL] = stack.url;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      void tearDown().finally(() => process.exit(signal === "SIGINT" ? 130 : 143));
    });
  }
}

/** Jest's globalTeardown, and the end of an interrupted run. */
export async function tearDown(): Promise<void> {
  const ending = stack;
  stack = undefined;
  await ending?.stop();
}

async function sharedStackUrl(local: string): Promise<string | undefined> {
  const file = join(local, SHARED_STACK_FILE);
  if (!existsSync(file)) return undefined;
  try {
    const { url } = JSON.parse(readFileSync(file, "utf8")) as { url: string };
    await getJson(url);
    return url;
  } catch {
    rmSync(file, { force: true });
    return undefined;
  }
}

/** A run that was killed leaves its servers and data; the next one clears them away. */
async function removeDeadRuns(local: string): Promise<void> {
  for (const name of readdirSync(local)) {
    const pid = RUN_FOLDER.exec(name)?.[1];
    if (pid === undefined || identify(Number(pid)) !== undefined) continue;
    const folder = join(local, name);
    await endStaleProcesses(join(folder, "pids"));
    removePostgresData(join(folder, "postgres"));
    rmSync(folder, { recursive: true, force: true });
  }
}
