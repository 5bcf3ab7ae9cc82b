import { expect, test } from "@jest/globals";
import { carriedHeaders } from "./carried-headers.ts";

test("text goes along", () => {
  const headers = { traceparent: "00-4bf9-00f0-01", "x-note": "é", "": "" };
  expect(carriedHeaders(headers)).toEqual(headers);
});

test.each(["CC", "BCC", "cc", "Bcc"])("%s never does, whatever it is", (name) => {
  expect(carriedHeaders({ [name]: ["herald.dispatch.first"] })).toEqual({});
  expect(carriedHeaders({ [name]: "herald.dispatch.first" })).toEqual({});
});

test.each<[string, unknown]>([
  ["a number", 1],
  ["nothing", null],
  ["a list", ["a"]],
  ["a table", { a: "b" }],
  ["bytes", Buffer.from("a")],
])("%s doesn't", (_name, value) => {
  expect(carriedHeaders({ value, text: "kept" })).toEqual({ text: "kept" });
});

test("more than 8 KiB don't, and what is small still does", () => {
  expect(carriedHeaders({ large: "é".repeat(5_000), traceparent: "kept" })).toEqual({ traceparent: "kept" });
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`header-${index}`, "value"]));
  expect(JSON.stringify(carriedHeaders(many)).length).toBeLessThan(16_384);
});

test("names of prototypes are names", () => {
  const carried = carriedHeaders(JSON.parse('{"__proto__":"a","constructor":"b"}'));
  expect(Object.entries(carried)).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
});
