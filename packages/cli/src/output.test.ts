import { expect, test } from "@jest/globals";
import { createProgress } from "./output.ts";

const CLEAR = "\r\u001b[K";

function start(isTerminal: boolean) {
  const written: string[] = [];
  const progress = createProgress("herald migrate", (text) => void written.push(text), isTerminal);
  const after = (seconds: number) => {
    written.length = 0;
    for (let second = 0; second < seconds; second++) progress.tick();
    return written;
  };
  return { ...progress, after, written };
}

test("a command that says nothing shows no progress", () => {
  expect(start(true).after(60)).toEqual([]);
});

test("on a terminal progress is one line, which is written over and taken away", () => {
  const { say, after, clear, written } = start(true);
  say("applying one");
  expect(after(2)).toEqual([
    `${CLEAR}herald migrate: applying one (1 s)`,
    `${CLEAR}herald migrate: applying one (2 s)`,
  ]);
  say("applying two");
  expect(after(1)).toEqual([`${CLEAR}herald migrate: applying two (3 s)`]);
  written.length = 0;
  clear();
  clear();
  expect(written).toEqual([CLEAR]);
});

test("elsewhere progress is a line now and then, and nothing is taken away", () => {
  const { say, after, clear, written } = start(false);
  say("applying one");
  expect(after(4)).toEqual([]);
  expect(after(1)).toEqual(["herald migrate: applying one (5 s)\n"]);
  expect(after(4)).toEqual([]);
  clear();
  expect(written).toEqual([]);
});

test("a long line of progress is cut off, since a terminal could not write over two", () => {
  const { say, after } = start(true);
  say("x".repeat(200));
  const [line = ""] = after(1);
  expect(line.slice(CLEAR.length)).toHaveLength(79);
  expect(line).toMatch(/xxx\.\.\.$/);
});
