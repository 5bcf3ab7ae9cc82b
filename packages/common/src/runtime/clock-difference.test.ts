import { describe, expect, test } from "@jest/globals";
import { clockDifferenceMs } from "./clock-difference.ts";

const at = (ms: number) => new Date(Date.parse("2026-03-01T12:00:00.000Z") + ms);
const difference = (theirs: number) => clockDifferenceMs({ asked: at(0), theirs: at(theirs), answered: at(40) });

describe("the difference between this clock and PostgreSQL's", () => {
  test("it is none while PostgreSQL's time lies between question and answer", () => {
    expect([difference(0), difference(20), difference(40)]).toEqual([0, 0, 0]);
  });

  test("it is positive where this clock is ahead, and negative where it is behind", () => {
    expect([difference(-3_000), difference(3_040)]).toEqual([3_000, -3_000]);
  });
});
