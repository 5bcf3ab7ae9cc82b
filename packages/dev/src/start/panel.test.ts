import { expect, test } from "@jest/globals";
import { forTheTerminal } from "./panel.ts";

const line = (fields: object) =>
  JSON.stringify({ service: "dispatcher", timestamp: "2026-01-01T00:00:00Z", ...fields });

test("warnings are shown with their facts, short", () => {
  const text = forTheTerminal(
    "dispatcher",
    line({ level: "warn", message: "attempt failed", statusCode: 503, error: "a\nb" }),
  );
  expect(text).toBe("dispatcher warn: attempt failed statusCode=503 error=a");
});

test("what goes well is left to the log file", () => {
  expect(forTheTerminal("dispatcher", line({ level: "info", message: "started" }))).toBeUndefined();
  expect(forTheTerminal("dispatcher", "")).toBeUndefined();
});

test("what is no log line is shown as it is", () => {
  expect(forTheTerminal("publisher", "TypeError: x is not a function")).toBe(
    "publisher: TypeError: x is not a function",
  );
});
