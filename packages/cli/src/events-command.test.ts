import { expect, test } from "@jest/globals";
import { readEvents } from "./events-command.ts";

const read = (text: string | Buffer) =>
  [...readEvents(Buffer.from(text))].map(({ place, content }) => [place, Buffer.from(content).toString()]);

test("each line is an event, and empty lines are passed over", () => {
  expect(read('{"a":1}\n\n  \r\n{"b":\t2}\r\n')).toEqual([
    ["line 1", '{"a":1}'],
    ["line 4", '{"b":\t2}\r'],
  ]);
  expect(read("\ufeff{}")).toEqual([["line 1", "\ufeff{}"]]);
});

test("the bytes of a line are not touched, even where they are no UTF-8", () => {
  const [event] = [...readEvents(Buffer.from([0x7b, 0xff, 0x7d, 0x0a]))];
  expect([...(event?.content ?? [])]).toEqual([0x7b, 0xff, 0x7d]);
});

test("each element of an array is an event", () => {
  expect(read('\ufeff\n [ {"a": 1},\n null ]')).toEqual([
    ["event 1", '{"a":1}'],
    ["event 2", "null"],
  ]);
});

test("an empty file has no events, and an array that is none is an error", () => {
  expect(read(" \n")).toEqual([]);
  expect(read("[]")).toEqual([]);
  expect(() => read('[{"a":1}\n[{"b":2}]')).toThrow("is no JSON array");
});
