import { afterEach, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { fairBatches, MAX_BATCH_BYTES } from "./fair-batches.ts";

afterEach(() => void jest.useRealTimers());

/** An event with a part of the bytes that a batch may have. */
const item = (organization: string, part = 0) => {
  return { organization, message: { content: { byteLength: part * MAX_BATCH_BYTES } } };
};
type Item = ReturnType<typeof item>;
const items = (count: number, organization: string) => Array.from({ length: count }, () => item(organization));
const turn = () => new Promise((resolve) => setImmediate(resolve));
const turns = async () => {
  for (let each = 0; each < 3; each++) await turn();
};

/** Batches that run until they are ended. */
function recording({ maxItems = 100, isApart = false, gathers = false } = {}) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const batches = fairBatches<Item>(
    (batch) => {
      begun.push(batch.map(({ organization }) => organization).join(""));
      return new Promise((resolve) => ends.push(resolve));
    },
    { maxItems, isApart, gathers },
  );
  return { batches, begun, end: () => ends.shift()?.() };
}

describe("batches", () => {
  test("an organization that is alone has whole batches, one after another, and without a pause", async () => {
    const { batches, begun, end } = recording({ maxItems: 6 });
    batches.add(item("b"));
    for (const each of items(12, "a")) batches.add(each);
    for (let batch = 0; batch < 3; batch++) {
      await turns();
      end();
    }
    expect(begun).toEqual(["baaaaa", "aaaaaa", "a"]);
  });

  test.each([
    ["after a batch of many events, others gather for a moment", 8, ["aaaaaaaa", "bc"]],
    ["after a batch of few events, the next one waits for no timer", 7, ["aaaaaaa", "b", "c"]],
  ])("%s", async (_title, many, expected) => {
    jest.useFakeTimers({ doNotFake: ["setImmediate"] });
    const { batches, begun, end } = recording({ gathers: true });
    for (const each of items(many, "a")) batches.add(each);
    for (const organization of ["b", "c"]) {
      await turns();
      end();
      batches.add(item(organization));
      jest.advanceTimersByTime(20);
    }
    await turns();
    jest.advanceTimersByTime(20);
    await turns();
    expect(begun).toEqual(expected);
  });

  test("no batch of several events has more bytes than it may, and a larger event has a batch of its own", async () => {
    const { batches, begun, end } = recording();
    for (const each of [item("a", 0.5), item("b", 0.5), item("c", 1.1), item("d", 0.1)]) batches.add(each);
    for (let batch = 0; batch < 3; batch++) {
      await turns();
      end();
    }
    expect(begun).toEqual(["ab", "c", "d"]);
  });

  test("an organization without a running batch waits neither for the batches of others, nor in one with them", async () => {
    const { batches, begun, end } = recording({ maxItems: 3, isApart: true });
    for (const each of items(20, "a")) batches.add(each);
    await turns();
    expect(begun).toEqual(["aaa"]);
    batches.add(item("b"));
    await turn();
    expect(begun).toEqual(["aaa", "b"]);
    // No place is left, not even apart.
    batches.add(item("c"));
    await turn();
    expect(begun).toHaveLength(2);
    end();
    await turns();
    expect(begun.slice(2)).toEqual(["aca"]);
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

describe("batches of any events, whose ends come at any time (property)", () => {
  type Step = { does: "add"; organization: string; part: number } | { does: "end" } | { does: "turn" };
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ does: fc.constant("add"), organization: organizations(), part: parts() }),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ does: "end" }) },
    { weight: 1, arbitrary: fc.constant<Step>({ does: "turn" }) },
  );
  const steps = fc.array(step, { maxLength: 120 });

  // Half of all events are of one organization.
  function organizations() {
    return fc.oneof(fc.constant("flood"), fc.constantFrom("a", "b", "c", "d"));
  }
  function parts() {
    return fc.constantFrom(0.05, 0.2, 0.4, 0.7);
  }

  interface Added extends Item {
    number: number;
    /** How many of its own organization waited before it. */
    before: number;
  }

  /** The course of all items: items as they were added, and the batches that began, in their order. */
  async function play(steps: readonly Step[], limits: { maxItems: number; isApart: boolean }) {
    const log: ({ added: Added } | { begun: readonly Added[] })[] = [];
    const ends: (() => void)[] = [];
    const waiting = new Map<string, number>();
    let added = 0;
    let mostRunning = 0;
    const batches = fairBatches<Added>((begun) => {
      log.push({ begun });
      for (const { organization } of begun) waiting.set(organization, (waiting.get(organization) as number) - 1);
      return new Promise((resolve) => {
        ends.push(resolve);
        mostRunning = Math.max(mostRunning, ends.length);
      });
    }, limits);
    for (const each of steps) {
      if (each.does === "add") {
        const before = waiting.get(each.organization) ?? 0;
        const event = { ...item(each.organization, each.part), number: added++, before };
        waiting.set(each.organization, before + 1);
        log.push({ added: event });
        batches.add(event);
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

  test("each event runs once, in the order of its organization, and no bound is passed", async () => {
    const limits = fc.record({ maxItems: fc.integer({ min: 1, max: 6 }), isApart: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(steps, limits, async (steps, limits) => {
        const { begun, added, mostRunning } = await play(steps, limits);
        const numbers = begun.flat().map(({ number }) => number);
        expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: added }, (_, index) => index));
        for (const one of new Set(begun.flat().map(({ organization }) => organization))) {
          const own = begun.flat().flatMap(({ organization, number }) => (organization === one ? [number] : []));
          expect(own).toEqual([...own].sort((a, b) => a - b));
        }
        for (const batch of begun) {
          expect(batch.length).toBeLessThanOrEqual(limits.maxItems);
          const bytes = batch.reduce((sum, { message }) => sum + message.content.byteLength, 0);
          if (batch.length > 1) expect(bytes).toBeLessThanOrEqual(MAX_BATCH_BYTES);
        }
        expect(mostRunning).toBeLessThanOrEqual(limits.isApart ? 2 : 1);
      }),
      { numRuns: 200 },
    );
  });

  test("while an event waits, no other organization has more turns than its own needs to reach it", async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 6 }), async (steps, maxItems) => {
        const { log } = await play(steps, { maxItems, isApart: false });
        const waits = new Map<Added, Map<string, number>>();
        for (const each of log) {
          if ("added" in each) waits.set(each.added, new Map());
          else {
            for (const taken of each.begun) {
              const turns = waits.get(taken) as Map<string, number>;
              waits.delete(taken);
              expect(Math.max(0, ...turns.values())).toBeLessThanOrEqual(taken.before + 1);
              const { organization: other } = taken;
              for (const [{ organization }, turnsOf] of waits) {
                if (organization !== other) turnsOf.set(other, (turnsOf.get(other) ?? 0) + 1);
              }
            }
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
