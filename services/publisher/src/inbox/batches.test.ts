import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { batchesByTurns } from "./batches.ts";

interface Item {
  group: string;
  bytes: number;
}

const item = (group: string, bytes = 1): Item => ({ group, bytes });
const items = (count: number, group: string) => Array.from({ length: count }, () => item(group));
const turn = () => new Promise((resolve) => setImmediate(resolve));
const turns = async () => {
  for (let each = 0; each < 3; each++) await turn();
};

/** Batches that run until they are ended. */
function recording(limits: { maxItems?: number; maxBytes?: number; maxRunning?: number; maxApart?: number } = {}) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const batches = batchesByTurns<Item>(
    (batch) => {
      begun.push(batch.map(({ group }) => group).join(""));
      return new Promise((resolve) => ends.push(resolve));
    },
    {
      maxItems: 100,
      maxBytes: 1_000,
      maxRunning: 1,
      ...limits,
      bytesOf: ({ bytes }) => bytes,
      groupOf: ({ group }) => group,
    },
  );
  return { batches, begun, end: () => ends.shift()?.() };
}

describe("batches", () => {
  test("a batch has items of each group, however many one group has", async () => {
    const { batches, begun, end } = recording({ maxItems: 5 });
    for (const each of [...items(9, "a"), ...items(1, "b"), ...items(2, "c")]) batches.add(each);
    await turn();
    end();
    await turn();
    await turn();
    expect(begun).toEqual(["abcac", "aaaaa"]);
  });

  test("a group that is alone has whole batches, one after another, and without a pause", async () => {
    const { batches, begun, end } = recording({ maxItems: 6 });
    batches.add(item("b"));
    for (const each of items(12, "a")) batches.add(each);
    for (let batch = 0; batch < 3; batch++) {
      await turns();
      end();
    }
    expect(begun).toEqual(["baaaaa", "aaaaaa", "a"]);
  });

  test("no batch of several items has more bytes than it may, and a larger item has a batch of its own", async () => {
    const { batches, begun } = recording({ maxBytes: 10, maxRunning: 9 });
    for (const each of [item("a", 6), item("b", 4), item("c", 11), item("d", 1)]) batches.add(each);
    for (let batch = 0; batch < 4; batch++) await turn();
    expect(begun).toEqual(["ab", "c", "d"]);
  });

  test("a group without a running batch waits neither for the batches of others, nor in one with them", async () => {
    const { batches, begun, end } = recording({ maxItems: 3, maxRunning: 2, maxApart: 1 });
    for (const each of items(20, "a")) batches.add(each);
    for (let each = 0; each < 3; each++) await turn();
    expect(begun).toEqual(["aaa", "aaa"]);
    batches.add(item("b"));
    await turn();
    expect(begun).toEqual(["aaa", "aaa", "b"]);
    // No place is left, not even apart.
    batches.add(item("c"));
    await turn();
    expect(begun).toHaveLength(3);
    end();
    await turn();
    await turn();
    expect(begun.slice(3)).toEqual(["c"]);
  });

  test("dropped items do not run, and running batches are waited for", async () => {
    const { batches, begun, end } = recording();
    batches.add(item("a"));
    await turn();
    batches.add(item("b"));
    expect(batches.drop()).toEqual([item("b")]);
    let isIdle = false;
    const idle = batches.idle().then(() => {
      isIdle = true;
    });
    await turn();
    expect(isIdle).toBe(false);
    end();
    await idle;
    expect(begun).toEqual(["a"]);
  });
});

describe("batches of any items, whose ends come at any time (property)", () => {
  type Step = { does: "add"; group: string; bytes: number } | { does: "end" } | { does: "turn" };
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ does: fc.constant("add"), group: groups(), bytes: fc.integer({ min: 1, max: 15 }) }),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ does: "end" }) },
    { weight: 1, arbitrary: fc.constant<Step>({ does: "turn" }) },
  );
  const steps = fc.array(step, { maxLength: 120 });

  // Half of all items are of one group.
  function groups() {
    return fc.oneof(fc.constant("flood"), fc.constantFrom("a", "b", "c", "d"));
  }

  interface Added extends Item {
    number: number;
    /** How many of its own group waited before it. */
    before: number;
  }

  /** The course of all items: items as they were added, and the batches that began, in their order. */
  async function play(steps: readonly Step[], limits: { maxItems: number; maxRunning: number; maxApart: number }) {
    const log: ({ added: Added } | { begun: readonly Added[] })[] = [];
    const ends: (() => void)[] = [];
    const waiting = new Map<string, number>();
    let added = 0;
    let mostRunning = 0;
    const batches = batchesByTurns<Added>(
      (begun) => {
        log.push({ begun });
        for (const { group } of begun) waiting.set(group, (waiting.get(group) as number) - 1);
        return new Promise((resolve) => {
          ends.push(resolve);
          mostRunning = Math.max(mostRunning, ends.length);
        });
      },
      { ...limits, maxBytes: 20, bytesOf: ({ bytes }) => bytes, groupOf: ({ group }) => group },
    );
    for (const each of steps) {
      if (each.does === "add") {
        const before = waiting.get(each.group) ?? 0;
        const item = { group: each.group, bytes: each.bytes, number: added++, before };
        waiting.set(each.group, before + 1);
        log.push({ added: item });
        batches.add(item);
      } else {
        if (each.does === "end") ends.shift()?.();
        await turns();
      }
    }
    for (let left = added; left >= 0; left--) {
      await turns();
      ends.shift()?.();
    }
    await batches.idle();
    return { log, added, mostRunning, begun: log.flatMap((each) => ("begun" in each ? [each.begun] : [])) };
  }

  test("each item runs once, in the order of its group, and no bound is passed", async () => {
    const limits = fc.record({
      maxItems: fc.integer({ min: 1, max: 6 }),
      maxRunning: fc.integer({ min: 1, max: 2 }),
      maxApart: fc.integer({ min: 0, max: 1 }),
    });
    await fc.assert(
      fc.asyncProperty(steps, limits, async (steps, limits) => {
        const { begun, added, mostRunning } = await play(steps, limits);
        const numbers = begun.flat().map(({ number }) => number);
        expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: added }, (_, index) => index));
        for (const group of new Set(begun.flat().map((each) => each.group))) {
          const own = begun.flat().flatMap((each) => (each.group === group ? [each.number] : []));
          expect(own).toEqual([...own].sort((a, b) => a - b));
        }
        for (const batch of begun) {
          expect(batch.length).toBeLessThanOrEqual(limits.maxItems);
          if (batch.length > 1) expect(batch.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(20);
        }
        expect(mostRunning).toBeLessThanOrEqual(limits.maxRunning + limits.maxApart);
      }),
      { numRuns: 200 },
    );
  });

  test("while an item waits, no other group has more turns than its own group needs to reach it", async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 6 }), async (steps, maxItems) => {
        const { log } = await play(steps, { maxItems, maxRunning: 1, maxApart: 0 });
        const waits = new Map<Added, Map<string, number>>();
        for (const each of log) {
          if ("added" in each) waits.set(each.added, new Map());
          else {
            for (const taken of each.begun) {
              const turns = waits.get(taken) as Map<string, number>;
              waits.delete(taken);
              expect(Math.max(0, ...turns.values())).toBeLessThanOrEqual(taken.before + 1);
              for (const [{ group }, turnsOf] of waits) {
                if (group !== taken.group) turnsOf.set(taken.group, (turnsOf.get(taken.group) ?? 0) + 1);
              }
            }
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
