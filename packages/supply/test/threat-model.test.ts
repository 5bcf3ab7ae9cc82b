import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectFolder } from "@herald/devkit/stack";
import { expect, test } from "@jest/globals";

test.each(["docs/threat-model.md", "SECURITY.md"])("each file that %s points to is there", (file) => {
  const text = readFileSync(join(projectFolder(), file), "utf8");
  const targets = [...text.matchAll(/\]\(([^)#:]+)[^)]*\)/g)].map(([, target]) => target ?? "");
  expect(targets.length).toBeGreaterThan(3);
  expect(targets.filter((target) => !existsSync(join(projectFolder(), dirname(file), target)))).toEqual([]);
});

test("each attacker of the threat model has a test that shows what Herald does", () => {
  const text = readFileSync(join(projectFolder(), "docs/threat-model.md"), "utf8");
  const rows = text.split("\n").filter((line) => /^\| (\*\*| *\|)/.test(line));
  expect(rows.length).toBeGreaterThan(15);
  expect(rows.filter((row) => !row.includes(".test.ts)"))).toEqual([]);
});
