import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { HeartbeatAnswer } from "../sql/heartbeat.ts";
import { ALIVE_MS, createOwnership, LAPSE_MS, type Ownership } from "./ownership.ts";

const SHARDS = 8;

/** PostgreSQL's two tables, as the statement of a heartbeat uses them. */
function postgres() {
  const shards = Array.from({ length: SHARDS }, () => ({ owner: null as number | null, epoch: 0, stopped: false }));
  const processes = new Map<number, { aliveUntilMs: number; able: boolean }>();
  return {
    shards,
    heartbeat(id: number, nowMs: number, { able = true, wanting = true } = {}): HeartbeatAnswer {
      processes.set(id, { aliveUntilMs: nowMs + ALIVE_MS, able });
      const others = [...processes].filter(([other, { aliveUntilMs }]) => other !== id && aliveUntilMs > nowMs);
      const ableOthers = others.filter(([, { able }]) => able).length;
      const sharers = able ? 1 + ableOthers : 1 + others.length;
      const fair = !wanting || (!able && ableOthers > 0) ? 0 : Math.ceil(SHARDS / sharers);
      const alive = new Set(others.map(([other]) => other));
      const owned = shards.flatMap(({ owner, epoch, stopped }, shard) =>
        owner === id ? [{ shard, epoch, stopped }] : [],
      );
      const taken: HeartbeatAnswer["taken"] = [];
      for (const [shard, each] of shards.entries()) {
        if (owned.length + taken.length >= fair) break;
        if (each.stopped || each.owner === id || (each.owner !== null && alive.has(each.owner))) continue;
        const crashed = each.owner !== null;
        each.owner = id;
        each.epoch++;
        taken.push({ shard, epoch: each.epoch, crashed });
      }
      return { owned, taken, fair };
    },
    release(id: number, released: readonly number[]): void {
      for (const shard of released) {
        const each = shards[shard];
        if (each?.owner === id) each.owner = null;
      }
    },
  };
}

interface Dispatcher {
  id: number;
  ownership: Ownership;
  able: boolean;
  inFlight: Map<number, number>;
  /** Until then it does nothing at all; its clock goes on. */
  frozenUntilMs: number;
  nextHeartbeatMs: number;
  /** A heartbeat under way. */
  answer?: { answer: HeartbeatAnswer; sentMs: number; arrivesMs: number };
  dead: boolean;
}

const step = fc.record({
  do: fc.constantFrom("start", "kill", "freeze", "slow answer", "disable", "enable", "stop", "go on", "pass", "pass"),
  who: fc.nat(3),
  ms: fc.nat(9_000),
});

test("owners that come, go, freeze and die never begin in one shard at the same time, and all shards are owned again in the end", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const database = postgres();
      const dispatchers: Dispatcher[] = [];
      let nowMs = 0;
      let ids = 0;
      let answersTakeMs = 3;

      const start = () =>
        dispatchers.push({
          id: ids++,
          ownership: createOwnership(),
          able: true,
          inFlight: new Map(),
          frozenUntilMs: 0,
          nextHeartbeatMs: nowMs,
          dead: false,
        });

      function act(each: Dispatcher): void {
        if (each.answer && each.answer.arrivesMs <= nowMs) {
          const { answer, sentMs } = each.answer;
          delete each.answer;
          const { uncertain } = each.ownership.heard(answer, { sentMs, answeredMs: nowMs });
          each.nextHeartbeatMs = uncertain ? nowMs : nowMs + 1_000;
          if (!uncertain) each.ownership.releaseSurplus((shard) => each.inFlight.get(shard) ?? 0);
        }
        const idle = each.ownership.releasing().filter((shard) => !each.inFlight.get(shard));
        if (idle.length > 0 && !each.answer) {
          database.release(each.id, idle);
          each.ownership.released(idle);
        }
        if (!each.answer && each.nextHeartbeatMs <= nowMs) {
          const answer = database.heartbeat(each.id, nowMs, { able: each.able });
          each.answer = { answer, sentMs: nowMs, arrivesMs: nowMs + answersTakeMs };
        }
      }

      function pass(ms: number): void {
        for (const endMs = nowMs + ms; nowMs < endMs; nowMs += 100) {
          const beginners = new Map<number, number>();
          for (const each of dispatchers) {
            if (each.dead || each.frozenUntilMs > nowMs) continue;
            act(each);
            for (let shard = 0; shard < SHARDS; shard++) {
              if (each.ownership.epochOf(shard, nowMs) === undefined) continue;
              expect(beginners.get(shard)).toBeUndefined();
              beginners.set(shard, each.id);
              // Attempts are under way now and then.
              each.inFlight.set(shard, (nowMs / 100 + shard + each.id) % 7 === 0 ? 1 : 0);
            }
            for (const shard of each.ownership.releasing()) if (nowMs % 500 === 0) each.inFlight.set(shard, 0);
          }
        }
      }

      start();
      for (const { do: what, who, ms } of steps) {
        const each = dispatchers[who % Math.max(1, dispatchers.length)];
        answersTakeMs = what === "slow answer" ? ms : 3;
        if (what === "start" && dispatchers.length < 6) start();
        if (what === "kill" && each) each.dead = true;
        if (what === "freeze" && each) each.frozenUntilMs = nowMs + 2 * ms;
        if (what === "disable" && each) each.able = false;
        if (what === "enable" && each) each.able = true;
        if (what === "stop") for (const shard of database.shards) shard.stopped = true;
        if (what === "go on") for (const shard of database.shards) shard.stopped = false;
        pass(Math.ceil(ms / 100) * 100);
      }
      for (const shard of database.shards) shard.stopped = false;
      answersTakeMs = 3;
      start();
      pass(20_000);
      const living = dispatchers.filter(({ dead }) => !dead);
      const ableOnes = living.filter(({ able }) => able);
      expect(ableOnes.length).toBeGreaterThan(0);
      const counts = ableOnes.map(({ ownership }) => ownership.shards().length);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(SHARDS);
      expect(Math.max(...counts)).toBeLessThanOrEqual(Math.ceil(SHARDS / ableOnes.length));
    }),
    { numRuns: 60 },
  );
});

describe("the answer to a heartbeat", () => {
  const answer = (override: Partial<HeartbeatAnswer> = {}): HeartbeatAnswer => ({
    owned: [],
    taken: [],
    fair: SHARDS,
    ...override,
  });

  test("a dispatcher begins nothing four seconds after its last answered heartbeat was sent", () => {
    const ownership = createOwnership();
    ownership.heard(answer({ taken: [{ shard: 3, epoch: 7, crashed: false }] }), { sentMs: 0, answeredMs: 10 });
    expect([ownership.epochOf(3, LAPSE_MS), ownership.epochOf(3, LAPSE_MS + 1), ownership.epochOf(4, 0)]).toEqual([
      7,
      undefined,
      undefined,
    ]);
  });

  test("a shard that another dispatcher has taken meanwhile is lost, even if this one owns it again in another epoch", () => {
    const ownership = createOwnership();
    const owned = [3, 4].map((shard) => ({ shard, epoch: 1, stopped: false }));
    ownership.heard(answer({ taken: owned.map((each) => ({ ...each, crashed: false })) }), {
      sentMs: 0,
      answeredMs: 1,
    });
    const later = answer({ owned: [{ shard: 4, epoch: 3, stopped: false }] });
    const { lost, taken } = ownership.heard(later, { sentMs: 1_000, answeredMs: 1_001 });
    expect([lost.sort(), taken, ownership.epochOf(4, 1_001)]).toEqual([[3, 4], [{ shard: 4, crashed: true }], 3]);
  });

  test("a dispatcher asks again if its answer came so late that others may have counted it as dead", () => {
    const ownership = createOwnership();
    const owned = [{ shard: 3, epoch: 1, stopped: false }];
    ownership.heard(answer({ taken: [{ shard: 3, epoch: 1, crashed: false }] }), { sentMs: 0, answeredMs: 1 });
    const late = ownership.heard(answer({ owned }), { sentMs: 5_500, answeredMs: ALIVE_MS + 1 });
    expect([late.uncertain, ownership.epochOf(3, ALIVE_MS + 1)]).toEqual([true, undefined]);
    const next = ownership.heard(answer({ owned }), { sentMs: ALIVE_MS + 1, answeredMs: ALIVE_MS + 3 });
    expect([next.uncertain, ownership.epochOf(3, ALIVE_MS + 3)]).toEqual([false, 1]);
  });

  test("a dispatcher gives up the shards beyond its fair share, those with the least in flight first, and begins nothing there from then on", () => {
    const ownership = createOwnership();
    const taken = [0, 1, 2].map((shard) => ({ shard, epoch: 1, crashed: false }));
    ownership.heard(answer({ taken, fair: 2 }), { sentMs: 0, answeredMs: 1 });
    ownership.releaseSurplus((shard) => (shard === 1 ? 0 : 5));
    expect([ownership.releasing(), ownership.epochOf(1, 1), ownership.epochOf(0, 1)]).toEqual([[1], undefined, 1]);
    ownership.released([1]);
    expect(ownership.shards()).toEqual([0, 2]);
  });
});
