import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import { printable } from "./arguments.ts";

// This package is published alone and the command of operators imports none of it, so each has its copy of the function.
const ofOperators: string = join(projectFolder(), "packages/cli/src/output.ts");
const copies = { listen: printable, cli: ((await import(ofOperators)) as { printable: typeof printable }).printable };

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

const UNSAFE: Record<string, number[]> = {
  "C0, but for tab and line feed": [...range(0x00, 0x08), ...range(0x0b, 0x1f)],
  "DEL and C1": range(0x7f, 0x9f),
  "marks of direction": [0x061c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)],
  "ends of lines and paragraphs": [0x2028, 0x2029],
  "invisible characters": [0xad, ...range(0x200b, 0x200d), 0x2060, 0xfeff, 0xe0001, 0xe0041],
};

test.each(Object.keys(copies) as (keyof typeof copies)[])(
  "the terminal of %s gets no character that steers or deceives",
  (name) => {
    const shown = copies[name];
    for (const character of Object.values(UNSAFE)
      .flat()
      .map((code) => String.fromCodePoint(code))) {
      const text = shown(`a${character}b`);
      expect(text).toMatch(/^a(\\u[0-9a-f]{4}){1,2}b$/);
      expect(JSON.parse(`"${text}"`)).toBe(`a${character}b`);
    }
    const harmless = 'tab\tline\n\u00e9 \u65e5\u672c \u0645\u0631\u062d\u0628\u0627 \u{1f600} \\ "';
    expect(shown(harmless)).toBe(harmless);
  },
);
