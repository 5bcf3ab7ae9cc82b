import { steeredClock } from "@herald/dev/harness/steered-clock";
import { describe, expect, test } from "@jest/globals";
import { endpointSlots } from "./endpoint-slots.ts";
import { createRate } from "./rate.ts";

describe("slots of an endpoint", () => {
  test("slots are given up to the cap, and each endpoint has its own cap", () => {
    const slots = endpointSlots((endpointId) => (endpointId === "a" ? 10 : 1));
    expect(slots.takeUpTo("a", 8)).toBe(8);
    expect(slots.takeUpTo("a", 8)).toBe(2);
    expect(slots.takeUpTo("a", 1)).toBe(0);
    expect(slots.takeUpTo("b", 2)).toBe(1);
    slots.release("a");
    slots.giveBack("a", 2);
    expect(slots.takeUpTo("a", 8)).toBe(3);
    expect(slots.total()).toBe(11);
  });

  test("a cap that becomes smaller ends no attempt, and lets the next one begin when enough have ended", () => {
    let cap = 3;
    const slots = endpointSlots(() => cap);
    slots.takeUpTo("a", 3);
    cap = 2;
    expect(slots.isWithin(() => cap)).toBe(false);
    slots.release("a");
    expect(slots.isWithin(() => cap)).toBe(true);
    expect(slots.takeUpTo("a", 1)).toBe(0);
    slots.release("a");
    expect(slots.takeUpTo("a", 5)).toBe(1);
  });

  test("an endpoint is worth a claim when half of its slots are free", () => {
    const slots = endpointSlots(() => 10);
    slots.takeUpTo("a", 10);
    for (let ended = 0; ended < 4; ended++) slots.release("a");
    expect(slots.isWorthClaiming("a")).toBe(false);
    slots.release("a");
    expect(slots.isWorthClaiming("a")).toBe(true);
  });

  test("an endpoint whose cap is zero is never worth a claim", () => {
    const slots = endpointSlots(() => 0);
    expect([slots.isWorthClaiming("a"), slots.takeUpTo("a", 1)]).toEqual([false, 0]);
  });

  test("slots may be taken beyond the cap, and are given again only below it", () => {
    const slots = endpointSlots(() => 1);
    slots.takeUpTo("a", 1);
    slots.takeBeyond("a");
    expect(slots.isWithin(() => 1)).toBe(true);
    slots.releaseBeyond("a");
    expect(slots.takeUpTo("a", 1)).toBe(0);
    slots.release("a");
    expect(slots.takeUpTo("a", 1)).toBe(1);
  });

  test("with a rate, free slots are given as tokens come, and what was given back may be taken again", () => {
    const clock = steeredClock();
    const rate = createRate({ rateOf: () => 4, clock, onReady: () => {} });
    const slots = endpointSlots(() => 10, rate);
    expect(slots.takeUpTo("a", 10)).toBe(4);
    expect(slots.isWorthClaiming("a")).toBe(false);
    slots.giveBack("a", 3);
    expect(slots.isWorthClaiming("a")).toBe(true);
    expect([slots.takeUpTo("a", 10), slots.takeUpTo("a", 10)]).toEqual([3, 0]);
    clock.advance(500);
    expect(slots.takeUpTo("a", 10)).toBe(2);
    expect(slots.total()).toBe(6);
    rate.stop();
  });
});
