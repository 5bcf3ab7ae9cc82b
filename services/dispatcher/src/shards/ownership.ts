import type { HeartbeatAnswer } from "../sql/heartbeat.ts";

/** A dispatcher lives this long after a heartbeat, by PostgreSQL's clock. Then its shards are free for others. */
export const ALIVE_MS = 6_000;

/** A dispatcher begins nothing more this long after it sent a heartbeat, by its own clock. Less than {@link ALIVE_MS}. */
export const LAPSE_MS = 4_000;

/** A shard that this dispatcher has taken. `crashed`: its owner died, and may have had attempts in flight. */
export type TakenShard = { shard: number; crashed: boolean };

export type Ownership = ReturnType<typeof createOwnership>;

/**
 * The shards that a dispatcher owns, as far as it knows. A shard is free, taken, or being released: then nothing begins in it any more, and it
 * becomes free when nothing of it is in flight.
 *
 * Two dispatchers never begin attempts in one shard at the same time: others take it only {@link ALIVE_MS} after PostgreSQL got the last heartbeat
 * of its owner, which begins no attempt from {@link LAPSE_MS} after it sent that. Only a dispatcher whose whole machine was suspended, with its
 * monotonic clock, learns from the answer to its next heartbeat that it lost its shards.
 */
export function createOwnership() {
  const owned = new Map<number, { epoch: number; stopped: boolean; releasing: boolean; sinceMs: number }>();
  let heardMs = Number.NEGATIVE_INFINITY;
  /** When the last answered heartbeat was sent, whether the answer came in time or not. */
  let sentBeforeMs: number | undefined;
  let fair = 0;

  const hasLapsed = (nowMs: number) => nowMs - heardMs > LAPSE_MS;

  return {
    /** @returns `lost`: the shards that others have taken, or could have. `uncertain`: another heartbeat must be sent at once */
    heard(answer: HeartbeatAnswer, { sentMs, answeredMs }: { sentMs: number; answeredMs: number }) {
      // PostgreSQL may have counted this dispatcher as dead when it got the heartbeat, and others may take its shards at that moment.
      const uncertain = sentBeforeMs !== undefined && answeredMs - sentBeforeMs > ALIVE_MS;
      sentBeforeMs = sentMs;
      if (!uncertain) heardMs = sentMs;
      fair = answer.fair;
      const taken: TakenShard[] = [...answer.taken];
      const lost: number[] = [];
      const said = new Map(answer.owned.map((each) => [each.shard, each]));
      for (const [shard, { epoch }] of owned) {
        if (said.get(shard)?.epoch === epoch) continue;
        owned.delete(shard);
        lost.push(shard);
      }
      for (const { shard, epoch, stopped } of answer.owned) {
        const known = owned.get(shard);
        if (known) known.stopped = stopped;
        // Taken by a heartbeat whose answer was lost: nothing is known about its owner before.
        else taken.push({ shard, crashed: true });
        if (!known) owned.set(shard, { epoch, stopped, releasing: false, sinceMs: answeredMs });
      }
      for (const { shard, epoch } of answer.taken) {
        owned.set(shard, { epoch, stopped: false, releasing: false, sinceMs: answeredMs });
      }
      return { taken, lost, uncertain };
    },
    /** The epoch in which this dispatcher owns the shard and may begin an attempt there; undefined if it may not. */
    epochOf(shard: number, nowMs: number): number | undefined {
      const known = owned.get(shard);
      return known === undefined || known.releasing || known.stopped || hasLapsed(nowMs) ? undefined : known.epoch;
    },
    /** Begins to release stopped shards, and those beyond the fair share, the ones with the fewest unsettled attempts first. */
    releaseSurplus(inFlightOf: (shard: number) => number): void {
      const kept: number[] = [];
      for (const [shard, each] of owned) {
        if (each.stopped) each.releasing = true;
        else if (!each.releasing) kept.push(shard);
      }
      const surplus = kept.length - fair;
      if (surplus <= 0) return;
      const load = new Map(kept.map((shard) => [shard, inFlightOf(shard)]));
      kept.sort((one, other) => (load.get(one) ?? 0) - (load.get(other) ?? 0));
      const least = new Set(kept.slice(0, surplus));
      for (const [shard, each] of owned) each.releasing ||= least.has(shard);
    },
    releaseAll(): void {
      for (const each of owned.values()) each.releasing = true;
    },
    releasing: () => [...owned].filter(([, { releasing }]) => releasing).map(([shard]) => shard),
    isReleasing: (shard: number) => owned.get(shard)?.releasing ?? false,
    /** For how long this dispatcher has known that it owns the shard; 0 if it does not own it. */
    ownedMs: (shard: number, nowMs: number) => nowMs - (owned.get(shard)?.sinceMs ?? nowMs),
    released(shards: readonly number[]): void {
      for (const shard of shards) owned.delete(shard);
    },
    /** All owned shards, those that are being released included. */
    shards: () => [...owned.keys()],
    hasLapsed,
  };
}
