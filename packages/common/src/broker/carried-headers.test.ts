import { expect, test } from "@jest/globals";
import { carriedHeaders } from "./carried-headers.ts";

test("headers of text are carried along", () => {
  const headers = { traceparent: "00-4bf9-00f0-01", "x-note": "é", "": "" };
  expect(carriedHeaders(headers)).toEqual(headers);
});

test.each(["CC", "BCC", "cc", "Bcc"])("a %s header is never carried along, whatever its value", (name) => {
  expect(carriedHeaders({ [name]: ["herald.other"] })).toEqual({});
  expect(carriedHeaders({ [name]: "herald.other" })).toEqual({});
});

test.each<[string, unknown]>([
  ["a number", 1],
  ["no value", null],
  ["a list", ["a"]],
  ["a table", { a: "b" }],
  ["bytes", Buffer.from("a")],
])("a header of %s is not carried along", (_name, value) => {
  expect(carriedHeaders({ value, text: "kept" })).toEqual({ text: "kept" });
});

test("headers beyond 8 KiB are not carried along, and small ones beside them are", () => {
  expect(carriedHeaders({ large: "é".repeat(5_000), traceparent: "kept" })).toEqual({ traceparent: "kept" });
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`header-${index}`, "value"]));
  expect(JSON.stringify(carriedHeaders(many)).length).toBeLessThan(16_384);
});

test("headers named like members of a prototype are carried along", () => {
  const carried = carriedHeaders(JSON.parse('{"__proto__":"a","constructor":"b"}'));
  expect(Object.entries(carried)).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
});
