import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A test's title that says which rules of SPEC the test shows. */
export interface SpecTitle {
  /** Ids of rules, or numbers of sections; several where the title begins as in `§5.2 §5.3 ...`. */
  names: string[];
  /** The words behind them. */
  text: string;
  /** The title of the group that the test is in; empty where it is in none. */
  group: string;
  /** From the checkout's root on. */
  file: string;
}

/** What stands before it on its line; a quote; and a text that begins with a section. */
const TITLE = /([^\n"'`]*)(["'`])(§(?:\\.|(?!\2)[^\\\n])*)\2/g;
/** A group's indentation and title. */
const GROUP = /^( *)describe\b[^\n]*?(["'`])((?:\\.|(?!\2)[^\\\n])*)\2/gm;
const SKIPPED = /\.(?:skip|todo|failing)\b|\bx(?:test|it|describe)\b/;
const SECTIONS_AND_WORDS = /^(§\S+(?: §\S+)*) ?(.*)$/;
/** Jest's, for the values of a row. */
const PLACEHOLDER = /%[sdifjop#]|\$\w+/g;

/**
 * The texts in a test file that begin with a section: titles of tests and of groups, and rows of `test.each`; each with the
 * title of the group that it is in. A skipped test shows nothing, so its title is left out.
 */
export function titlesIn(source: string, file: string): SpecTitle[] {
  const groups = [...source.matchAll(GROUP)];
  const titles: SpecTitle[] = [];
  for (const { index, 1: before = "", 3: literal = "" } of source.matchAll(TITLE)) {
    const [, sections = "", words = ""] = SECTIONS_AND_WORDS.exec(literal) ?? [];
    if (SKIPPED.test(before) || sections === "") continue;
    const names = sections.split(" ").map((section) => section.slice(1));
    const group = groups.findLast((one) => isInside(source, one, index))?.[3] ?? "";
    titles.push({ names, text: readable(words), group: readable(group), file });
  }
  return titles;
}

function readable(title: string): string {
  return title.replaceAll(PLACEHOLDER, "…");
}

/** Whether a group is still open there: a line that closes it would be indented as it is. */
function isInside(source: string, group: RegExpExecArray, index: number): boolean {
  const from = group.index + group[0].length;
  return from < index && !source.slice(from, index).includes(`\n${group[1]}}`);
}

/** Titles of all test files of the checkout, file by file. */
export function allTitles(root: string): SpecTitle[] {
  return testFiles(root).flatMap((file) => titlesIn(readFileSync(join(root, file), "utf8"), file));
}

/** What jest takes for tests, from the checkout's root on, with `/` on every system. */
function testFiles(root: string): string[] {
  const files: string[] = [];
  const walk = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory() && entry.name !== "node_modules" && entry.name !== "dist") walk(path);
      else if (/\.test\.tsx?$/.test(entry.name)) files.push(path);
    }
  };
  walk("packages");
  walk("services");
  return files.sort();
}
