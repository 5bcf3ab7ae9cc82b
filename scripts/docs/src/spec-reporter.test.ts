import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import SpecReporter, { rulesOf, specFaults } from "./spec-reporter.js";

const rules = rulesOf("- **1.1** A rule.\n- **1.2/a** Another one.\n- **1.2/b** (system) A third one.\n- no rule");
const passed = (title: string, ...ancestorTitles: string[]) => ({ title, ancestorTitles, status: "passed" });
// Written so, a title in this file is no title of this file's own tests.
const S = "\u00a7";

test("docs/spec.md has rules with different ids, some of which the system tests show", () => {
  const ids = rulesOf(readFileSync(new URL("../../../docs/spec.md", import.meta.url), "utf8"));
  expect(ids.length).toBeGreaterThan(100);
  expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length);
  expect(ids.some(({ tier }) => tier === "system")).toBe(true);
});

describe("the spec reporter", () => {
  test("is content where each rule of the tier has a passed test", () => {
    expect(specFaults(rules, "test", [passed(`${S}1.1 ${S}1.2/a a title that names both`)])).toEqual([]);
    expect(specFaults(rules, "system", [passed(`${S}1.2/b the page shows it`)])).toEqual([]);
  });

  test("reads the titles of groups too", () => {
    expect(specFaults(rules, "test", [passed("a title", `${S}1.1 a group`), passed(`${S}1.2/a`)])).toEqual([]);
  });

  test("names a rule whose test failed, was skipped, or is not there", () => {
    const results = [{ title: `${S}1.1 fails`, ancestorTitles: [], status: "failed" }];
    expect(specFaults(rules, "test", results)).toEqual([
      expect.stringContaining("No passed test shows 1.1"),
      expect.stringContaining("No passed test shows 1.2/a"),
    ]);
  });

  test("takes a whole section for a name, which shows none of its rules", () => {
    expect(specFaults(rules, "system", [passed(`${S}1.2 a section`), passed(`${S}1 a chapter`)])).toEqual([
      expect.stringContaining("1.2/b"),
    ]);
  });

  test("names a title whose id does not exist", () => {
    expect(specFaults(rules, "system", [passed(`${S}1.2/b`), passed(`${S}1.2/c an old id`)])).toEqual([
      expect.stringContaining(`"${S}1.2/c an old id" names ${S}1.2/c`),
    ]);
  });

  test.each([
    ["a part of the tiers", ["unit"], {}],
    ["a path", ["unit", "service"], { testPathPatterns: { patterns: ["settle"] } }],
    ["a title", ["system"], { testNamePattern: "settle" }],
    ["what changed", ["unit", "service"], { onlyChanged: true }],
  ])("does not judge a run of %s", (_, projects, config) => {
    const reporter = new SpecReporter(config as never);
    const contexts = new Set(projects.map((name) => ({ config: { displayName: { name } } })));
    reporter.onRunComplete(contexts, { wasInterrupted: false, testResults: [] });
    expect(reporter.getLastError()).toBeUndefined();
  });
});
