import { expect, test } from "@jest/globals";
import { readTraceparent, writeTraceparent } from "./tracing.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("a traceparent is read and written back", () => {
  for (const flags of ["00", "01"]) {
    const text = `00-${TRACE}-${SPAN}-${flags}`;
    const read = readTraceparent(text);
    expect(read).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: flags === "01" });
    expect(read && writeTraceparent(read)).toBe(text);
  }
});

test("only the lowest bit of the flags says that the trace is recorded", () => {
  expect(readTraceparent(`00-${TRACE}-${SPAN}-fe`)?.isSampled).toBe(false);
  expect(readTraceparent(`00-${TRACE}-${SPAN}-03`)?.isSampled).toBe(true);
});

test.each([
  null,
  undefined,
  "",
  "nonsense",
  `00-${TRACE}-${SPAN}`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`,
])("%p is no traceparent", (text) => {
  expect(readTraceparent(text)).toBeUndefined();
});
