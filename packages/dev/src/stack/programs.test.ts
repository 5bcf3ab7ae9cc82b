import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findProgram, findWorkingProgram } from "./programs.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-programs-"));
const path = process.env.PATH;

/** A program of a test in a folder of its own. */
function program(name: string, script: string): string {
  mkdirSync(join(folder, name));
  const file = join(folder, name, "compiler");
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

let proxy = "";
let working = "";
beforeAll(() => {
  proxy = program("proxy", "echo no toolchain is installed >&2; exit 1");
  working = program("working", "echo 1.0");
  process.env.PATH = ["proxy", "working"].map((each) => join(folder, each)).join(delimiter) + delimiter + path;
});
afterAll(() => {
  process.env.PATH = path;
  rmSync(folder, { recursive: true });
});

test("a program that is found and does not work is passed over for the next one of its name", async () => {
  expect(findProgram("compiler")).toBe(proxy);
  expect(await findWorkingProgram("compiler", ["--version"])).toBe(working);
});

test("a program that nowhere works is not found", async () => {
  writeFileSync(working, "#!/bin/sh\nexit 1\n");
  expect(await findWorkingProgram("compiler", ["--version"])).toBeUndefined();
});
