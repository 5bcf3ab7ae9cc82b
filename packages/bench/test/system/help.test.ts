import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectFolder } from "@herald/testkit/stack/folders";
import { expect, test } from "@jest/globals";

const FOLDER = join(projectFolder(), "packages", "bench", "dist", "commands");
const COMMANDS = readdirSync(FOLDER).filter((file) => file.endsWith(".js"));

test("the only command is bench", () => {
  expect(COMMANDS).toEqual(["bench.js"]);
});

test.each(COMMANDS)("%s says how it is used, and starts nothing, where it is asked for help", async (command) => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(FOLDER, command), "--help"]);
  const [usage = "", ...options] = stdout.trimEnd().split("\n");
  expect(usage).toMatch(new RegExp(`^pnpm ${command.replace(".js", "")} \\[options\\]: `));
  expect(options.filter((line) => line.startsWith("  --"))).toHaveLength(options.length - 1);
  expect(stderr).toBe("");
});

test("bench says in a sentence, and no stack trace, that a baseline is no commit", async () => {
  const run = promisify(execFile)(process.execPath, [join(FOLDER, "bench.js"), "--baseline", "nosuch"]);
  const { code, stderr } = await run.then(
    () => ({ code: 0, stderr: "" }),
    (error: { code: number; stderr: string }) => error,
  );
  expect(code).toBe(2);
  expect(stderr.trimEnd().split("\n")).toEqual([expect.stringContaining('no commit "nosuch"')]);
});
