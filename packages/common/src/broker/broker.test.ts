import { expect, test } from "@jest/globals";
import { ARRIVAL } from "./arrival.ts";
import { carriedHeaders } from "./carried-headers.ts";

/** For a slow message, or a slow statement. */
const TRANSPORT_MS = 3_000;
const { freshMs, aheadMs, slowMs, storedAfterMs, togetherMs, unstoredMs, handedOverMs, rememberedMs, newOwnerMs } =
  ARRIVAL;

/** The longest time between the end of an attempt of an event that arrived, and the beginning of one of the same event that came again. */
const betweenMs = aheadMs + freshMs + unstoredMs;

test.each<[rule: string, shorter: number, longer: number]>([
  [
    "an owner remembers an attempt until the same event can't be handed over again",
    betweenMs + TRANSPORT_MS,
    rememberedMs,
  ],
  [
    "an owner remembers an attempt until a message about the stored delivery is too old",
    handedOverMs + TRANSPORT_MS,
    rememberedMs,
  ],
  [
    "a new owner waits until nothing can come again that the owner before has attempted",
    betweenMs + TRANSPORT_MS,
    newOwnerMs,
  ],
  [
    "an event is stored before its owner takes it for one that could not be stored",
    storedAfterMs + togetherMs,
    unstoredMs,
  ],
  ["a publisher hands nothing more over by the time that its statement is too slow for an owner", slowMs, unstoredMs],
])("%s", (_rule, shorter, longer) => {
  expect(shorter).toBeLessThanOrEqual(longer);
});

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
