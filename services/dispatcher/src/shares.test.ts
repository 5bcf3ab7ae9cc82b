import { expect, test } from "@jest/globals";
import { createShares } from "./shares.ts";

/** Takes one after another until there is no room; returns how many. */
function fill(shares: ReturnType<typeof createShares>, organizationId: string, othersWait = false): number {
  let count = 0;
  for (; shares.roomOf(organizationId, othersWait) > 0; count++) shares.take(organizationId, 1);
  return count;
}

test("an organization that is alone may take all, and none where others wait or hold some beyond a quarter", () => {
  expect(fill(createShares({ total: 100 }), "a")).toBe(100);
  expect(fill(createShares({ total: 100, alone: 75 }), "a")).toBe(75);
  expect(fill(createShares({ total: 100 }), "a", true)).toBe(25);
  const shares = createShares({ total: 100 });
  shares.take("b", 1);
  expect(fill(shares, "a")).toBe(25);
});

test("whoever had all takes nothing more while others are there, until it is down to a quarter", () => {
  const shares = createShares({ total: 100 });
  fill(shares, "a");
  expect(shares.roomOf("b")).toBe(0);
  shares.release("a", 1);
  expect(shares.roomOf("a", true)).toBe(0);
  expect(fill(shares, "b")).toBe(1);
  shares.release("a", 74);
  expect(shares.roomOf("a")).toBe(0);
  shares.release("a", 1);
  expect(shares.roomOf("a")).toBe(1);
});

test("however many organizations take what they may, the next one finds something free", () => {
  const shares = createShares({ total: 100 });
  for (let index = 0; index < 60; index++) {
    expect(fill(shares, `organization-${index}`, true)).toBeGreaterThan(0);
    shares.release(`organization-${index}`, shares.heldBy(`organization-${index}`));
    shares.take(`organization-${index}`, 1);
  }
  expect(shares.free()).toBe(40);
});

test("what room there is may be taken at once, and little of little too", () => {
  for (const total of [1, 2, 3, 10, 500]) {
    const shares = createShares({ total });
    shares.take("a", shares.roomOf("a", true));
    expect(shares.heldBy("a")).toBe(fill(createShares({ total }), "a", true));
    expect(shares.heldBy("a")).toBeGreaterThan(0);
    expect(shares.roomOf("a", true)).toBe(0);
  }
});
