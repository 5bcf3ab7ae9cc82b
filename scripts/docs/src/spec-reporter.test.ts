import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { describe, expect, test } from "@jest/globals";
import SpecReporter, { rulesOf, specFaults, titlesIn, unknownNames } from "./spec-reporter.js";

const rules = rulesOf("- **1.1** A rule.\n- **1.2/a** Another one.\n- **1.2/b** A third one.\n- no rule");
const passed = (title: string, ...ancestorTitles: string[]) => ({ title, ancestorTitles, status: "passed" });
// Written so, a title in this file is no title of this file's own tests.
const S = "\u00a7";

const inSpec = rulesOf(readFileSync(join(projectFolder(), "docs", "spec.md"), "utf8"));

test("docs/spec.md has rules with different ids", () => {
  expect(inSpec.length).toBeGreaterThan(100);
  expect(new Set(inSpec).size).toBe(inSpec.length);
});

// A run finds it too, after minutes, and only in the tiers that it runs.
test("no title of any tier names a rule that docs/spec.md does not have", () => {
  const titles = testFiles().flatMap((file) => titlesIn(readFileSync(file, "utf8")));
  expect(titles.length).toBeGreaterThan(inSpec.length);
  expect(unknownNames(inSpec, titles)).toEqual([]);
});

function testFiles(): string[] {
  const packages = ["packages", "services"].flatMap((group) => inside(join(projectFolder(), group)));
  const folders = packages.flatMap((folder) => [join(folder, "src"), join(folder, "test")]).filter(existsSync);
  return folders.flatMap((folder) => inside(folder, true)).filter((file) => /\.test\.tsx?$/.test(file));
}

const inside = (folder: string, recursive = false): string[] =>
  readdirSync(folder, { recursive, encoding: "utf8" }).map((name) => join(folder, name));

test("titles are found in a source, however they are quoted", () => {
  const source = `test("${S}1.1 it's one", f);\ntest(\n  '${S}1.2/a another', f);\ntest(\`${S}1.2/b $\{x}\`);\n// ${S}1.9`;
  expect(titlesIn(source)).toEqual([`${S}1.1 it's one`, `${S}1.2/a another`, `${S}1.2/b $\{x}`]);
});

describe("the spec reporter", () => {
  test("is content if each rule has a passed test", () => {
    const titles = [`${S}1.1 ${S}1.2/a a title that names both`, `${S}1.2/b the page shows it`];
    expect(
      specFaults(
        rules,
        titles.map((title) => passed(title)),
      ),
    ).toEqual([]);
  });

  test("reads the titles of groups too", () => {
    const results = [passed("a title", `${S}1.1 a group`), passed(`${S}1.2/a`), passed(`${S}1.2/b`)];
    expect(specFaults(rules, results)).toEqual([]);
  });

  test("names a rule whose test failed, was skipped, or is not there", () => {
    const results = [{ title: `${S}1.1 fails`, ancestorTitles: [], status: "failed" }];
    expect(specFaults(rules, results)).toEqual([
      expect.stringContaining("No passed test shows 1.1"),
      expect.stringContaining("No passed test shows 1.2/a"),
      expect.stringContaining("No passed test shows 1.2/b"),
    ]);
  });

  test("takes a whole section for a name, which shows none of its rules", () => {
    const results = [passed(`${S}1.1`), passed(`${S}1.2/a`), passed(`${S}1.2 a section`), passed(`${S}1 a chapter`)];
    expect(specFaults(rules, results)).toEqual([expect.stringContaining("1.2/b")]);
  });

  test("names a title whose id does not exist", () => {
    const results = [passed(`${S}1.1 ${S}1.2/a ${S}1.2/b all`), passed(`${S}1.2/c an old id`)];
    expect(specFaults(rules, results)).toEqual([expect.stringContaining(`"${S}1.2/c an old id" names ${S}1.2/c`)]);
  });

  test.each([
    ["a part of the tiers", ["unit"], {}],
    ["a path", ["unit", "service"], { testPathPatterns: { patterns: ["settle"] } }],
    ["a title", ["unit", "service"], { testNamePattern: "settle" }],
    ["the tiers that show nothing alone", ["quick"], {}],
    ["what changed", ["unit", "service"], { onlyChanged: true }],
  ])("does not judge a run of %s", (_, projects, config) => {
    const reporter = new SpecReporter(config as never);
    const contexts = new Set(projects.map((name) => ({ config: { displayName: { name } } })));
    reporter.onRunComplete(contexts, { wasInterrupted: false, testResults: [] });
    expect(reporter.getLastError()).toBeUndefined();
  });
});
