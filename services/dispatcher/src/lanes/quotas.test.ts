import { expect, test } from "@jest/globals";
import { createQuotas } from "./quotas.ts";

/** Takes one after another until there is no room; returns how many. */
function fill(quotas: ReturnType<typeof createQuotas>, organizationId: string, othersWait = false): number {
  let count = 0;
  for (; quotas.roomOf(organizationId, othersWait) > 0; count++) quotas.take(organizationId, 1);
  return count;
}

test("an organization that is alone may take all, and none where others wait or hold some beyond a quarter", () => {
  expect(fill(createQuotas({ total: 100 }), "a")).toBe(100);
  expect(fill(createQuotas({ total: 100, alone: 75 }), "a")).toBe(75);
  expect(fill(createQuotas({ total: 100 }), "a", true)).toBe(25);
  const quotas = createQuotas({ total: 100 });
  quotas.take("b", 1);
  expect(fill(quotas, "a")).toBe(25);
});

test("whoever had all takes nothing more while others are there, until it is down to a quarter", () => {
  const quotas = createQuotas({ total: 100 });
  fill(quotas, "a");
  expect(quotas.roomOf("b")).toBe(0);
  quotas.release("a", 1);
  expect(quotas.roomOf("a", true)).toBe(0);
  expect(fill(quotas, "b")).toBe(1);
  quotas.release("a", 74);
  expect(quotas.roomOf("a")).toBe(0);
  quotas.release("a", 1);
  expect(quotas.roomOf("a")).toBe(1);
});

test("however many organizations take what they may, the next one finds something free", () => {
  const quotas = createQuotas({ total: 100 });
  for (let index = 0; index < 60; index++) {
    expect(fill(quotas, `organization-${index}`, true)).toBeGreaterThan(0);
    quotas.release(`organization-${index}`, quotas.heldBy(`organization-${index}`));
    quotas.take(`organization-${index}`, 1);
  }
  expect(quotas.free()).toBe(40);
});

test("what room there is may be taken at once, and little of little too", () => {
  for (const total of [1, 2, 3, 10, 500]) {
    const quotas = createQuotas({ total });
    quotas.take("a", quotas.roomOf("a", true));
    expect(quotas.heldBy("a")).toBe(fill(createQuotas({ total }), "a", true));
    expect(quotas.heldBy("a")).toBeGreaterThan(0);
    expect(quotas.roomOf("a", true)).toBe(0);
  }
});
