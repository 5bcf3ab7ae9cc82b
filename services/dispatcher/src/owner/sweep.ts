import { repeat } from "@herald/common/runtime/repeat";
import type { Basics } from "../basics.ts";
import type { RetrySchedule } from "../endpoint/retry-schedule.ts";
import type { TakenShard } from "../shards/ownership.ts";
import type { Shards } from "../shards/shards.ts";
import { findEndpointsWithWork } from "../sql/read-due.ts";
import type { Owner } from "./owner.ts";

/** Shards of one statement: an eighth of all work if Herald has a single dispatcher. */
const SHARDS_AT_ONCE = 32;

/** How long the next sweep waits: over much work nine times as long as this one took, so that they take a tenth of one connection. */
export function pauseMs(tookMs: number, intervalMs: number): number {
  return Math.max(intervalMs, Math.min(9 * tookMs, MAX_PAUSE_MS));
}

/** Each shard is looked at again before the work is over that the last sweep has found ahead. */
const MAX_PAUSE_MS = 5_000;

/** Work that is due within this time is found too. */
const AHEAD_MS = 10_000;

/** Finds work without a message: retries of an owner before, and work whose message was lost. */
export function startSweep(
  { queries, clock, log, owner, shards, schedule }: Basics & { owner: Owner; shards: Shards; schedule: RetrySchedule },
  intervalMs: number,
) {
  /** The shards that were taken since the last sweep; true if their owner died. */
  let fresh = new Map<number, boolean>();

  async function look(shards: readonly number[], crashed: ReadonlySet<number>): Promise<void> {
    const now = clock.now();
    const bounds = { dueBy: new Date(now.getTime() + AHEAD_MS), latestDue: schedule.latestDue(now) };
    owner.found(await findEndpointsWithWork(queries, shards, bounds), { crashed });
  }

  let tookMs = 0;
  const sweeping = repeat(
    async (signal) => {
      const begun = performance.now();
      const taken = fresh;
      fresh = new Map();
      // Taken shards come first: no sweep has looked at them for a while.
      const all = [...new Set([...taken.keys(), ...shards.owned()])];
      for (let next = 0; next < all.length && !signal.aborted; next += SHARDS_AT_ONCE) {
        const some = all.slice(next, next + SHARDS_AT_ONCE);
        try {
          await look(some, new Set(some.filter((shard) => taken.get(shard))));
          for (const shard of some) taken.delete(shard);
        } catch (error) {
          // The interrupted deliveries there must still be marked.
          for (const [shard, crashed] of taken) fresh.set(shard, crashed);
          throw error;
        }
      }
      tookMs = performance.now() - begun;
    },
    {
      intervalMs: () => pauseMs(tookMs, intervalMs),
      onFailure: (error) => log.error("a sweep for due deliveries failed; the next one comes", { error }),
    },
  );

  return {
    taken(shards: readonly TakenShard[]): void {
      for (const { shard, crashed } of shards) fresh.set(shard, crashed);
      sweeping.wake();
    },
    stop: sweeping.stop,
  };
}
