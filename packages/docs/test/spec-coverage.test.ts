import { existsSync, readFileSync } from "node:fs";
import { projectFolder } from "@herald/testkit/stack/folders";
import { expect, test } from "@jest/globals";
import { coverageOf } from "../src/spec-coverage/coverage.ts";
import { awaited, specCoverage } from "../src/spec-coverage/spec-coverage.ts";
import { titlesIn } from "../src/spec-coverage/titles.ts";

const { coverage, document, file } = specCoverage(projectFolder());

test("every rule of SPEC has a test, and no title names a rule that doesn't exist", () => {
  // Seen in every run, so that nobody takes what is missing for done.
  if (awaited.length > 0) process.stderr.write(`Rules of SPEC whose tests are still to come: ${awaited.join(", ")}\n`);
  expect(coverage.faults).toEqual([]);
});

test("docs/spec-coverage.md is what the titles say: pnpm spec-coverage writes it", () => {
  expect(existsSync(file) ? readFileSync(file, "utf8") : "no file").toBe(document);
});

// Written so, these are no titles of this file.
const S = "\u00a7";

test("titles are found wherever tests have them, with their group, and not where they are skipped", () => {
  const source = `
test("${S}1.1 a plain one", () => {});
describe('a group', () => {
  test.each([["${S}1.2 ${S}1.3/word a row, \\"quoted\\", of two rules", 1]])("%s", () => {});
});
test.each([1, 2])(
  \`${S}1.4 %i of $name\`, () => {});
test.skip("${S}1.5 skipped", () => {});
describe.skip("${S}1.6 skipped", () => {});
test.todo("${S}1.7 to do");
test("other ${S}1.8", () => {});`;
  expect(titlesIn(source, "a.test.ts").map(({ names, group, text }) => [names.join(), group, text])).toEqual([
    ["1.1", "", "a plain one"],
    ["1.2,1.3/word", "a group", 'a row, \\"quoted\\", of two rules'],
    ["1.4", "", "… of …"],
  ]);
});

test("a rule without a test, a title without a rule, and a stale awaited rule are faults", () => {
  const sections = [{ number: "1", title: "", rules: { "1.1": "", "1.2/a": "", "1.2/b": "" } }];
  const faultsOf = (awaitedIds: string[], ...titles: string[]) =>
    coverageOf(
      sections,
      awaitedIds,
      titles.map((name) => ({ names: [name], text: "words", group: "", file: "a.test.ts" })),
    ).faults;
  expect(faultsOf([], "1.1", "1.2/a", "1.2/b", "1", "1.2")).toEqual([]);
  expect(faultsOf(["1.2/b"], "1.1", "1.2/a")).toEqual([]);
  expect(faultsOf([], "1.1", "1.2", "1.2/a")).toEqual([expect.stringContaining("1.2/b has no test")]);
  expect(faultsOf([], "1.1", "1.2/a", "1.2/b", "1.2/c", "2")).toEqual([
    expect.stringContaining(`${S}1.2/c words`),
    expect.stringContaining(`${S}2 words`),
  ]);
  expect(faultsOf(["1.1", "9"], "1.1", "1.2/a", "1.2/b")).toEqual([
    expect.stringContaining("take it off"),
    expect.stringContaining("does not exist"),
  ]);
});
