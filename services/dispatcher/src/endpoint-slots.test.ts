import { describe, expect, test } from "@jest/globals";
import { endpointSlots } from "./endpoint-slots.ts";

describe("slots of an endpoint", () => {
  test("slots are given up to the cap, and each endpoint has its own cap", () => {
    const slots = endpointSlots(() => 10);
    expect(slots.takeUpTo("a", 8)).toBe(8);
    expect(slots.takeUpTo("a", 8)).toBe(2);
    expect(slots.takeUpTo("a", 1)).toBe(0);
    expect(slots.takeUpTo("b", 1)).toBe(1);
    slots.release("a", 3);
    expect(slots.takeUpTo("a", 8)).toBe(3);
    expect(slots.total()).toBe(11);
  });

  test("an endpoint is worth a claim when half of its slots are free", () => {
    const slots = endpointSlots(() => 10);
    slots.takeUpTo("a", 10);
    slots.release("a", 4);
    expect(slots.isWorthClaiming("a")).toBe(false);
    slots.release("a", 1);
    expect(slots.isWorthClaiming("a")).toBe(true);
  });

  test("slots may be taken beyond the cap, and are given again only below it", () => {
    const slots = endpointSlots(() => 1);
    slots.takeUpTo("a", 1);
    slots.takeBeyond("a");
    slots.release("a");
    expect(slots.takeUpTo("a", 1)).toBe(0);
    slots.release("a");
    expect(slots.takeUpTo("a", 1)).toBe(1);
  });
});
