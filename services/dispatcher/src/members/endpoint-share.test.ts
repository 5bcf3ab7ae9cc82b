import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { shareOut } from "./endpoint-share.ts";

const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const members = fc
  .uniqueArray(fc.nat({ max: 1_000_000 }), { minLength: 1, maxLength: 30 })
  .map((numbers) => numbers.map((number) => `dispatcher-${number}`));
const cap = fc.integer({ min: 1, max: 40 });

describe("an endpoint's attempts, shared out among dispatchers", () => {
  test("a dispatcher that is alone has them all", () => {
    expect(shareOut(["a"], "a", 10)("endpoint")).toEqual({ count: 10, first: true });
  });

  test("of any number of dispatchers, the shares make up the cap, differ by one at the most, and one of them is the first", () => {
    fc.assert(
      fc.property(members, cap, fc.uuid(), (all, attempts, endpointId) => {
        const shares = all.map((own) => shareOut(all, own, attempts)(endpointId));
        const counts = shares.map(({ count }) => count);
        expect(sum(counts)).toBe(attempts);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        const first = shares.filter((share) => share.first);
        expect(first.map(({ count }) => count)).toEqual([Math.max(...counts)]);
      }),
    );
  });

  test("dispatchers that count others besides those that attempt stay within the cap together", () => {
    fc.assert(
      fc.property(members, fc.array(members, { minLength: 30, maxLength: 30 }), cap, (attempting, others, attempts) => {
        const counts = attempting.map((own, index) => {
          const known = [...new Set([...attempting, ...(others[index] ?? [])])];
          return shareOut(known, own, attempts)("endpoint").count;
        });
        expect(sum(counts)).toBeLessThanOrEqual(attempts);
      }),
      { numRuns: 20 },
    );
  });

  test("twenty dispatchers have one attempt each of ten endpoints in twenty, and are the first for one in twenty", () => {
    const all = ids("dispatcher", 20);
    const endpoints = ids("endpoint", 500);
    for (const own of all) {
      const shareOf = shareOut(all, own, 10);
      const shares = endpoints.map(shareOf);
      expect(Math.max(...shares.map(({ count }) => count))).toBe(1);
      expect(sum(shares.map(({ count }) => count))).toBeGreaterThan(190);
      expect(sum(shares.map(({ count }) => count))).toBeLessThan(310);
      expect(shares.filter(({ first }) => first).length).toBeGreaterThan(8);
      expect(shares.filter(({ first }) => first).length).toBeLessThan(45);
    }
  });

  test("a dispatcher that comes is the first for some endpoints, and changes who is the first for no other", () => {
    const all = ids("dispatcher", 5);
    const more = [...all, "newcomer"];
    const firstOf = (living: readonly string[], endpointId: string) =>
      living.find((own) => shareOut(living, own, 10)(endpointId).first);
    const changed = ids("endpoint", 300).filter((endpointId) => firstOf(all, endpointId) !== firstOf(more, endpointId));
    expect(changed.length).toBeGreaterThan(0);
    expect(new Set(changed.map((endpointId) => firstOf(more, endpointId)))).toEqual(new Set(["newcomer"]));
  });
});
