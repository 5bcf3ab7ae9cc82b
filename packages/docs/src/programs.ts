import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Tried } from "@herald/e2e/receivers/tried";
import { projectFolder } from "@herald/testkit/stack/folders";

/** The text of a file of the repository, which is given from the root on. */
export function readFile(file: string): string {
  return readFileSync(join(projectFolder(), file), "utf8");
}

/** What an example ran on, where it ran. */
export function triedOn({ name }: { name: string }, tried: readonly Tried[]): string {
  return tried.find((each) => each.name === name)?.version ?? "not tried";
}

/** A file of the examples as a block of code, with a link. */
export function programText(file: string, fence: string): string {
  return `[examples/${file}](../examples/${file})\n\n\`\`\`${fence}\n${readFile(`examples/${file}`).trim()}\n\`\`\``;
}
