import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type BeatAnswer, createMembership, LAPSE_MS, LONG_UNSEEN_MS, type Member, UNSEEN_MS } from "./membership.ts";

const START = Date.parse("2026-03-01T12:00:00.000Z");
const at = (ms: number) => new Date(START + ms);
const within = () => true;
const CAP = 10;

/** An answer at this time, with the time at which each member joined, and the one at which it agreed. */
function answer(ms: number, members: Record<string, [joined: number, agreed?: number | null]>): BeatAnswer {
  return {
    at: at(ms),
    members: Object.entries(members).map(([id, [joined, agreed]]) => ({
      id,
      joinedAt: at(joined),
      agreedAt: agreed === undefined || agreed === null ? null : at(agreed),
    })),
  };
}

describe("a dispatcher among others", () => {
  test("one that is alone begins when its second beat shows that it is", () => {
    const own = createMembership("own", CAP);
    expect(own.shareOf("endpoint", 0)).toEqual({ count: 0, first: false });
    own.heard(answer(0, { own: [0] }), 0, within);
    expect([own.hasBegun(), own.isUnsettled()]).toEqual([false, true]);
    own.heard(answer(5, { own: [0] }), 5, within);
    expect(own.shareOf("endpoint", 5)).toEqual({ count: CAP, first: true });
    own.heard(answer(10, { own: [0] }), 10, within);
    expect(own.isUnsettled()).toBe(false);
  });

  test("a newcomer begins when each other member says that it has counted it, and not before", () => {
    const own = createMembership("own", CAP);
    own.heard(answer(100, { own: [100], old: [0, 90] }), 100, within);
    own.heard(answer(105, { own: [100], old: [0, 90] }), 105, within);
    own.heard(answer(355, { own: [100], old: [0, 104] }), 355, within);
    expect(own.hasBegun()).toBe(false);
    own.heard(answer(605, { own: [100], old: [0, 300], other: [200] }), 605, within);
    expect(own.hasBegun()).toBe(false);
    own.heard(answer(855, { own: [100], old: [0, 300], other: [200, 460] }), 855, within);
    const { count } = own.shareOf("endpoint", 855);
    expect(count).toBeGreaterThanOrEqual(3);
    expect(count).toBeLessThanOrEqual(4);
  });

  test("a newcomer doesn't wait for a member that has left", () => {
    const own = createMembership("own", CAP);
    own.heard(answer(0, { own: [0], old: [-500] }), 0, within);
    own.heard(answer(5, { own: [0], old: [-500] }), 5, within);
    own.heard(answer(255, { own: [0] }), 255, within);
    expect(own.shareOf("endpoint", 255).count).toBe(CAP);
  });

  test("a member agrees to a newcomer when no endpoint has more attempts under way than its new share", () => {
    const own = createMembership("own", CAP);
    own.heard(answer(0, { own: [0] }), 0, within);
    own.heard(answer(5, { own: [0] }), 5, within);
    const taken = 6;
    const isWithin = (capOf: (endpointId: string) => number) => taken <= capOf("endpoint");
    own.heard(answer(1_000, { own: [0], other: [900] }), 1_000, isWithin);
    expect(own.shareOf("endpoint", 1_000).count).toBe(5);
    expect(own.agreedAt()).toEqual(at(5));
    expect(own.isUnsettled()).toBe(true);
    own.heard(answer(1_250, { own: [0], other: [900] }), 1_250, within);
    expect(own.agreedAt()).toEqual(at(1_250));
    expect(own.isUnsettled()).toBe(false);
  });

  test("a dispatcher that PostgreSQL doesn't answer begins nothing, until it hears that it is still a member", () => {
    const own = createMembership("own", CAP);
    own.heard(answer(0, { own: [0] }), 0, within);
    own.heard(answer(5, { own: [0] }), 5, within);
    expect(own.shareOf("endpoint", 5 + LAPSE_MS).count).toBe(CAP);
    expect(own.shareOf("endpoint", 6 + LAPSE_MS)).toEqual({ count: 0, first: false });
    own.heard(answer(20_000, { own: [0] }), 20_000, within);
    expect(own.shareOf("endpoint", 20_000).count).toBe(CAP);
  });

  test("a dispatcher that the others took for dead joins again, when its own attempts have ended", () => {
    const own = createMembership("own", CAP);
    own.heard(answer(0, { own: [0], old: [-500, 4] }), 0, within);
    own.heard(answer(5, { own: [0], old: [-500, 50] }), 5, within);
    expect(own.hasBegun()).toBe(true);
    own.heard(answer(9_000, { own: [9_000], old: [-500, 8_000] }), 9_000, within);
    expect(own.hasBegun()).toBe(false);
    const isWithin = (capOf: (endpointId: string) => number) => 1 <= capOf("endpoint");
    own.heard(answer(9_250, { own: [9_000], old: [-500, 9_300] }), 9_250, isWithin);
    expect(own.hasBegun()).toBe(false);
    own.heard(answer(9_500, { own: [9_000], old: [-500, 9_300] }), 9_500, within);
    expect(own.shareOf("endpoint", 9_500).count).toBe(5);
  });

  test("a dispatcher takes no other for dead until all have had time to come back after an outage", () => {
    const own = createMembership("own", CAP);
    expect(own.unseenMs(0)).toBe(LONG_UNSEEN_MS);
    own.heard(answer(0, { own: [0] }), 0, within);
    own.heard(answer(3_000, { own: [0] }), 3_000, within);
    expect(own.unseenMs(5_999)).toBe(LONG_UNSEEN_MS);
    own.heard(answer(6_000, { own: [0] }), 6_000, within);
    expect(own.unseenMs(6_000)).toBe(UNSEEN_MS);
    expect(own.unseenMs(6_001 + LAPSE_MS)).toBe(LONG_UNSEEN_MS);
    own.heard(answer(20_000, { own: [0] }), 20_000, within);
    expect(own.unseenMs(21_000)).toBe(LONG_UNSEEN_MS);
  });
});

/** A random number from 0 to below `limit`, from a seed (xorshift). */
function randomFrom(seed: number): (limit: number) => number {
  let state = seed | 1;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}

/**
 * Dispatchers that come, end and are killed, on one table, in virtual time. A statement's time, its snapshot, its commit and its answer are apart,
 * and answers get lost. Each dispatcher takes as many attempts to one endpoint as it may.
 */
function simulate(seed: number, { cap, steps }: { cap: number; steps: number }) {
  const random = randomFrom(seed);
  const table = new Map<string, Member & { seenAt: number }>();
  const living = new Map<string, Dispatcher>();
  let now = 0;
  let most = 0;
  let everyoneBegan = 0;
  const later: { ms: number; run: () => void }[] = [];
  const after = (ms: number, run: () => void) => later.push({ ms: now + ms, run });

  interface Dispatcher {
    id: string;
    membership: ReturnType<typeof createMembership>;
    taken: number;
    ending: boolean;
  }

  function start(): void {
    const id = `dispatcher-${seed}-${now}-${random(1_000_000)}`;
    const dispatcher: Dispatcher = { id, membership: createMembership(id, cap), taken: 0, ending: false };
    living.set(id, dispatcher);
    beat(dispatcher);
  }

  function beat(dispatcher: Dispatcher): void {
    const { id, membership } = dispatcher;
    const sentMs = now;
    const [agreedAt, unseenMs] = [membership.agreedAt(), membership.unseenMs(now)];
    after(random(30), () => {
      const time = now;
      after(random(30), () => {
        if (!living.has(id)) return;
        const snapshot = [...table.values()].filter((member) => member.id !== id);
        after(random(random(4) === 0 ? 300 : 30), () => {
          if (!living.has(id)) return;
          const joinedAt = table.get(id)?.joinedAt ?? at(time);
          const own = { id, joinedAt, agreedAt, seenAt: time };
          table.set(id, own);
          const dead = snapshot.filter((member) => member.seenAt < time - unseenMs);
          for (const member of dead) if (table.get(member.id) === member) table.delete(member.id);
          const members = [own, ...snapshot.filter((member) => !dead.includes(member))];
          const isLost = random(20) === 0;
          after(isLost ? 500 : random(30), () => {
            if (!living.has(id)) return;
            if (!isLost)
              membership.heard({ at: at(time), members }, sentMs, (capOf) => dispatcher.taken <= capOf("endpoint"));
            after(membership.isUnsettled() ? random(250) : 1_000, () => living.has(id) && beat(dispatcher));
          });
        });
      });
    });
  }

  function attempt(dispatcher: Dispatcher): void {
    if (dispatcher.ending) return;
    while (dispatcher.taken < dispatcher.membership.shareOf("endpoint", now).count) {
      dispatcher.taken++;
      after(1 + random(random(5) === 0 ? 15_000 : 100), () => {
        dispatcher.taken--;
      });
    }
  }

  function end(dispatcher: Dispatcher): void {
    dispatcher.ending = true;
    if (dispatcher.taken > 0) return void after(50, () => end(dispatcher));
    living.delete(dispatcher.id);
    table.delete(dispatcher.id);
  }

  for (let step = 0; step < steps; step++) {
    const some = [...living.values()][random(living.size || 1)];
    const what = random(60);
    if (living.size === 0 || (what < 3 && living.size < 8)) start();
    else if (what === 3 && some && !some.ending) end(some);
    else if (what === 4 && some) living.delete(some.id);
    const until = now + random(400);
    for (;;) {
      later.sort((one, other) => one.ms - other.ms);
      const next = later[0];
      if (next === undefined || next.ms > until) break;
      later.shift();
      now = next.ms;
      next.run();
      for (const dispatcher of living.values()) attempt(dispatcher);
      most = Math.max(
        most,
        [...living.values()].reduce((total, { taken }) => total + taken, 0),
      );
    }
    now = until;
    if (living.size > 1 && [...living.values()].every(({ membership }) => membership.hasBegun())) everyoneBegan++;
  }
  return { most, everyoneBegan };
}

describe("dispatchers that come, end and are killed", () => {
  test("together they never have more attempts to an endpoint than its cap, and use all of it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1 }), fc.constantFrom(1, 2, 3, 10), (seed, cap) => {
        expect(simulate(seed, { cap, steps: 400 }).most).toBe(cap);
      }),
      { numRuns: 15 },
    );
  });

  test("those that come begin soon", () => {
    expect(simulate(1, { cap: 10, steps: 1_500 }).everyoneBegan).toBeGreaterThan(250);
  });
});
