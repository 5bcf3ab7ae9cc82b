import { expect, test } from "@jest/globals";
import { pauseMs } from "./sweep.ts";

test.each([
  ["its interval", 10, 2_000],
  ["nine times what the last one took", 300, 2_700],
  ["five seconds, however long the last one took", 60_000, 5_000],
])("regression: a sweep comes after %s", (_after, tookMs, expected) => {
  expect(pauseMs(tookMs, 2_000)).toBe(expected);
});
