import { type Coverage, wholeSections } from "./coverage.ts";
import type { SpecSection } from "./rules.ts";
import type { SpecTitle } from "./titles.ts";

const INTRODUCTION = `# What Herald was asked to do, and the tests that show it

Herald implements a written specification, which code and tests call SPEC. This page says its rules in other words, under its
section numbers, each with the tests that show it. A test whose title begins with \`§3.1/pause\` shows rule 3.1/pause; one that
names a section with several rules, such as \`§3.1\`, is about the section as a whole.

The page is made from the titles of the tests by \`pnpm spec-coverage\`. A test fails where a rule has no test, where a title
names what does not exist, and where this page is out of date.
`;

interface Parts {
  sections: readonly SpecSection[];
  untested: readonly { part: string; why: string }[];
  awaited: readonly string[];
  coverage: Coverage;
}

/** `docs/spec-coverage.md`, as Markdown. */
export function coverageDocument({ sections, untested, awaited, coverage }: Parts): string {
  const titlesOf = (name: string) => coverage.titles.get(name) ?? [];
  const parts = [INTRODUCTION];
  for (const section of sections) {
    parts.push(`## ${section.number} ${section.title}`, "");
    parts.push("| rule | what it asks | shown by |", "| --- | --- | --- |");
    for (const [id, text] of Object.entries(section.rules)) {
      const none = awaited.includes(id) ? "_a test still to come_" : "**nothing**";
      parts.push(`| ${id} | ${escaped(text)} | ${list(titlesOf(id)) || none} |`);
    }
    const whole = wholeSections(section).flatMap(titlesOf);
    if (whole.length > 0) parts.push(`| | _as a whole_ | ${list(whole)} |`);
    parts.push("");
  }
  parts.push("## What no test here shows", "");
  for (const { part, why } of untested) parts.push(`- **${part}:** ${why}`);
  return `${parts.join("\n")}\n`;
}

/** Each file once, and in it each group, with its titles behind it. */
function list(titles: readonly SpecTitle[]): string {
  const files = by(titles, ({ file }) => file).map(([file, ofFile]) => {
    const groups = by(ofFile, ({ group }) => group).map(([group, ofGroup]) => {
      const texts = ofGroup.map(({ text }) => escaped(text)).join("; ");
      return group === "" ? texts : `_${escaped(group)}:_ ${texts}`;
    });
    return `[${nameOf(file)}](../${file}) ${groups.join(". ")}`;
  });
  return files.join("<br>");
}

function by<T>(items: readonly T[], key: (item: T) => string): [key: string, items: T[]][] {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return [...groups];
}

/** A file's workspace and its own name, as in `dispatcher/settle`. */
function nameOf(file: string): string {
  const [, workspace = ""] = file.split("/");
  return `${workspace}/${file.slice(file.lastIndexOf("/") + 1).replace(/\.test\.tsx?$/, "")}`;
}

function escaped(text: string): string {
  return text.replace(/[\\|*_<`[\]]/g, "\\$&");
}
