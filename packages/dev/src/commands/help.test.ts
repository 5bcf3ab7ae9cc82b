import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EVENT_TYPES } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { projectFolder } from "../stack/folders.ts";
import { DEFAULT_LIFE, FULL_ACCESS } from "../start/development-token.ts";

const help = (name: string) => readFileSync(join(projectFolder(), `packages/dev/src/commands/${name}.txt`), "utf8");

test("the help of pnpm emit names each event type, and that of pnpm token each default", () => {
  for (const type of EVENT_TYPES) expect(help("emit")).toContain(type);
  for (const value of [...Object.values(FULL_ACCESS), DEFAULT_LIFE]) expect(help("token")).toContain(String(value));
});
