import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { projectFolder } from "../../src/stack/folders.ts";
import { withoutPnpm } from "../../src/stack/programs.ts";

const { packageManager } = JSON.parse(readFileSync(join(projectFolder(), "package.json"), "utf8")) as {
  packageManager: string;
};
const [pinned = "", hash = ""] = packageManager.split("+sha512.");

/** A checkout of nothing but what .ci/pnpm.mjs reads. */
let checkout = "";
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), "herald-pnpm-"));
  mkdirSync(join(checkout, ".ci"));
  copyFileSync(join(projectFolder(), ".ci", "pnpm.mjs"), join(checkout, ".ci", "pnpm.mjs"));
  // The checkout's own settings: it has to run whatever packageManager says.
  writeFileSync(join(checkout, "pnpm-workspace.yaml"), "pmOnFail: ignore\n");
});
afterEach(() => rmSync(checkout, { recursive: true, force: true }));

function run(pin: string): { status: number | null; stdout: string; stderr: string } {
  const scripts = { said: "pnpm --version" };
  writeFileSync(join(checkout, "package.json"), JSON.stringify({ private: true, packageManager: pin, scripts }));
  const args = [join(checkout, ".ci", "pnpm.mjs"), "--silent", "run", "said"];
  return spawnSync(process.execPath, args, { cwd: checkout, encoding: "utf8", env: withoutPnpm() });
}

test("CI and the image run exactly the pnpm that package.json pins, also in what its scripts call", () => {
  const { status, stdout } = run(packageManager);
  expect([status, `pnpm@${stdout.trim().split("\n").at(-1)}`]).toEqual([0, pinned]);
});

test("a pnpm with another hash than package.json pins is not run, and its hash is named", () => {
  const { status, stdout, stderr } = run(`${pinned}+sha512.${"0".repeat(128)}`);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("is not the one that package.json pins");
  expect(stderr).toContain(`sha512.${hash}`);
  expect(readdirSync(join(checkout, ".local", "pnpm"))).toEqual([]);
});

test("a packageManager without a hash is refused", () => {
  const { status, stderr } = run(pinned);
  expect([status, stderr]).toEqual([1, expect.stringContaining("pnpm@x.y.z+sha512.<hex>")]);
});
