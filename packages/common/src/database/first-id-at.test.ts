import { expect, test } from "@jest/globals";
import { firstIdAt } from "./first-id-at.ts";

test("the first id of a millisecond lies between the ids of the milliseconds before and after it", () => {
  const time = new Date("2026-03-01T12:00:00.123Z");
  expect(firstIdAt(time)).toBe("019ca945-0a7b-7000-8000-000000000000");
  expect(firstIdAt(new Date(time.getTime() - 1)) < firstIdAt(time)).toBe(true);
  expect(firstIdAt(new Date(0))).toBe("00000000-0000-7000-8000-000000000000");
});
