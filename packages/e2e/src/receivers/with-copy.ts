import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";

/** Works on a copy of an example's folder, so that the checkout stays as it is. */
export async function withCopy<Result>(example: string, work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "herald-receiver-"));
  try {
    cpSync(join(projectFolder(), "examples", example), folder, { recursive: true });
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
