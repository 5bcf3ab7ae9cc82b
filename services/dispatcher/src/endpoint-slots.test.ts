import { describe, expect, test } from "@jest/globals";
import { endpointSlots } from "./endpoint-slots.ts";

describe("slots of an endpoint", () => {
  test("slots are given up to the cap, and each endpoint has its own cap", () => {
    const slots = endpointSlots(10);
    expect(slots.takeUpTo("a", 8)).toBe(8);
    expect(slots.takeUpTo("a", 8)).toBe(2);
    expect(slots.takeUpTo("a", 1)).toBe(0);
    expect(slots.takeUpTo("b", 1)).toBe(1);
    slots.release("a", 3);
    expect(slots.takeUpTo("a", 8)).toBe(3);
    expect(slots.total()).toBe(11);
  });

  test("an endpoint is worth a claim when half of its slots are free", () => {
    const slots = endpointSlots(10);
    slots.takeUpTo("a", 10);
    slots.release("a", 4);
    expect(slots.isWorthClaiming("a")).toBe(false);
    slots.release("a", 1);
    expect(slots.isWorthClaiming("a")).toBe(true);
  });

  test("slots may be taken beyond the cap, and are given again only below it", () => {
    const slots = endpointSlots(1);
    slots.takeUpTo("a", 1);
    slots.takeBeyond("a");
    slots.release("a");
    expect(slots.takeUpTo("a", 1)).toBe(0);
    slots.release("a");
    expect(slots.takeUpTo("a", 1)).toBe(1);
  });
});

describe("an endpoint's share of the cap", () => {
  const shareOf = (slots: ReturnType<typeof endpointSlots>, endpointId = "a") => {
    const share = slots.takeUpTo(endpointId, 100);
    slots.release(endpointId, share);
    return share;
  };

  test("an endpoint's share of the cap halves with each failure, down to one", () => {
    const slots = endpointSlots(10);
    const shares = [1, 2, 3, 4, 5].map(() => {
      slots.ended("a", false);
      return shareOf(slots);
    });
    expect(shares).toEqual([5, 2, 1, 1, 1]);
    expect(slots.takeUpTo("b", 100)).toBe(10);
  });

  test("an endpoint's share of the cap doubles with each success, so that a recovered receiver is not flooded", () => {
    const slots = endpointSlots(10);
    for (let failure = 0; failure < 5; failure++) slots.ended("a", false);
    const shares = [1, 2, 3, 4, 5].map(() => {
      slots.ended("a", true);
      return shareOf(slots);
    });
    expect(shares).toEqual([2, 4, 8, 10, 10]);
  });

  test("only so many shares are remembered: the endpoint that failed longest ago has its whole cap again", () => {
    const slots = endpointSlots(10);
    slots.ended("first", false);
    for (let index = 0; index < 9_999; index++) slots.ended(`endpoint-${index}`, false);
    expect(shareOf(slots, "first")).toBe(5);
    slots.ended("last", false);
    expect(shareOf(slots, "first")).toBe(10);
    expect(shareOf(slots, "last")).toBe(5);
  });
});
