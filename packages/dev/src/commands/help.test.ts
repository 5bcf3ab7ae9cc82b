import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { projectFolder } from "../stack/folders.ts";
import { DEFAULT_LIFE, FULL_ACCESS } from "../start/development-token.ts";

const source = readFileSync(join(projectFolder(), "packages/dev/src/commands/token.ts"), "utf8");
const [, help] = /^const HELP = `(.*?)`;$/ms.exec(source) ?? [];

test("the help of pnpm token names each default", () => {
  for (const value of [FULL_ACCESS.permissions, DEFAULT_LIFE]) expect(help).toContain(String(value));
});
