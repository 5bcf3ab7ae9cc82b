import { expect, test } from "@jest/globals";
import { createProgress } from "./progress.ts";

function start(isTerminal: boolean) {
  let now = 100;
  const written: string[] = [];
  const write = (text: string) => void written.push(text);
  const progress = createProgress({ name: "herald migrate", write, isTerminal, nowMs: () => now });
  return {
    ...progress,
    /** What is written when so much time has passed since the start. */
    at: (ms: number) => {
      now = 100 + ms;
      written.length = 0;
      progress.tick();
      return written.join("");
    },
    written,
  };
}

const CLEAR = "\r\u001b[K";

test("a command that ends within a second shows no progress, nor does one that says nothing", () => {
  const quick = start(true);
  quick.say("applying one");
  expect(quick.at(999)).toBe("");
  expect(start(true).at(60_000)).toBe("");
});

test("on a terminal progress is one line, which is written over and taken away", () => {
  const { say, at, clear, written } = start(true);
  say("applying one");
  expect(at(1_000)).toBe(`${CLEAR}herald migrate: applying one (1 s)`);
  expect(at(1_200)).toBe("");
  say("applying two");
  expect(at(1_400)).toBe(`${CLEAR}herald migrate: applying two (1 s)`);
  expect(at(2_100)).toBe(`${CLEAR}herald migrate: applying two (2 s)`);
  written.length = 0;
  clear();
  clear();
  expect(written).toEqual([CLEAR]);
});

test("elsewhere progress is a line now and then, and nothing is taken away", () => {
  const { say, at, clear, written } = start(false);
  say("applying one");
  expect(at(4_999)).toBe("");
  expect(at(5_000)).toBe("herald migrate: applying one (5 s)\n");
  say("applying two");
  expect(at(9_000)).toBe("");
  expect(at(10_000)).toBe("herald migrate: applying two (10 s)\n");
  written.length = 0;
  clear();
  expect(written).toEqual([]);
});

test("a long line of progress is cut off, since a terminal could not write over two", () => {
  const { say, at } = start(true);
  say("x".repeat(200));
  const line = at(1_000).slice(CLEAR.length);
  expect(line).toHaveLength(79);
  expect(line).toMatch(/xxx\.\.\.$/);
});
