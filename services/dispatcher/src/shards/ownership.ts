import type { HeartbeatAnswer } from "../sql/heartbeat.ts";

/** A dispatcher lives so long after a heartbeat, by PostgreSQL's clock. Then its shards are free for others. */
export const ALIVE_MS = 6_000;

/** So long after a heartbeat was sent, its dispatcher begins nothing more, by its own clock. Less than {@link ALIVE_MS}. */
export const LAPSE_MS = 4_000;

/** A shard that this dispatcher has taken. `crashed`: its owner died, and may have had attempts in flight. */
export interface TakenShard {
  shard: number;
  crashed: boolean;
}

/** What an answer changes. */
export interface OwnershipChange {
  taken: TakenShard[];
  /** Shards that others have taken, or could have. */
  lost: number[];
  /** The answer came so late that others may have taken over meanwhile what it says is owned. It has to be asked for again, at once. */
  uncertain: boolean;
}

/**
 * What a dispatcher knows of the shards that it owns. A shard is free, taken, or being released: then nothing begins in it any more, and
 * it becomes free when nothing of it is in flight.
 *
 * Two dispatchers never begin attempts in one shard at the same time. Others take a shard only when {@link ALIVE_MS} have passed since
 * PostgreSQL got its owner's last heartbeat, and the owner begins nothing {@link LAPSE_MS} after it sent that one. The exception is a
 * machine that is stopped as a whole, so that its own clock stands still too: it learns of it with its next heartbeat.
 *
 * Pure: answers and times are arguments. Times are of a clock that never goes back.
 */
export interface Ownership {
  heard(answer: HeartbeatAnswer, times: { sentMs: number; answeredMs: number }): OwnershipChange;
  /** In which epoch this dispatcher owns the shard and may begin an attempt there; undefined where it may not. */
  epochOf(shard: number, nowMs: number): number | undefined;
  /**
   * Begins to release what is beyond the fair share, and what was stopped; of the others those with the least in flight.
   *
   * @param inFlightOf how many attempts of the shard are not settled
   */
  releaseSurplus(inFlightOf: (shard: number) => number): void;
  releaseAll(): void;
  /** Those that are being released. */
  releasing(): number[];
  isReleasing(shard: number): boolean;
  /** For how long this dispatcher has known of the shard; 0 where it does not own it. */
  ownedMs(shard: number, nowMs: number): number;
  /** They have been released. */
  released(shards: readonly number[]): void;
  /** All that it owns, those that are being released included. */
  shards(): number[];
  hasLapsed(nowMs: number): boolean;
}

interface Owned {
  epoch: number;
  stopped: boolean;
  releasing: boolean;
  sinceMs: number;
}

export function createOwnership(): Ownership {
  const owned = new Map<number, Owned>();
  let heardMs = Number.NEGATIVE_INFINITY;
  /** When the last heartbeat was sent that was answered, in time or not. */
  let sentBeforeMs: number | undefined;
  let fair = 0;

  const hasLapsed = (nowMs: number) => nowMs - heardMs > LAPSE_MS;

  return {
    heard(answer, { sentMs, answeredMs }) {
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
        // Taken by a heartbeat whose answer was lost: nothing is known of its owner before.
        else taken.push({ shard, crashed: true });
        if (!known) owned.set(shard, { epoch, stopped, releasing: false, sinceMs: answeredMs });
      }
      for (const { shard, epoch } of answer.taken) {
        owned.set(shard, { epoch, stopped: false, releasing: false, sinceMs: answeredMs });
      }
      return { taken, lost, uncertain };
    },
    epochOf(shard, nowMs) {
      const known = owned.get(shard);
      return known === undefined || known.releasing || known.stopped || hasLapsed(nowMs) ? undefined : known.epoch;
    },
    releaseSurplus(inFlightOf) {
      const kept: number[] = [];
      for (const [shard, each] of owned) {
        if (each.stopped) each.releasing = true;
        else if (!each.releasing) kept.push(shard);
      }
      const surplus = kept.length - fair;
      if (surplus <= 0) return;
      const load = new Map(kept.map((shard) => [shard, inFlightOf(shard)]));
      kept.sort((one, other) => (load.get(one) ?? 0) - (load.get(other) ?? 0));
      for (const shard of kept.slice(0, surplus)) (owned.get(shard) as Owned).releasing = true;
    },
    releaseAll() {
      for (const each of owned.values()) each.releasing = true;
    },
    releasing: () => [...owned].filter(([, { releasing }]) => releasing).map(([shard]) => shard),
    isReleasing: (shard) => owned.get(shard)?.releasing ?? false,
    ownedMs: (shard, nowMs) => nowMs - (owned.get(shard)?.sinceMs ?? nowMs),
    released(shards) {
      for (const shard of shards) owned.delete(shard);
    },
    shards: () => [...owned.keys()],
    hasLapsed,
  };
}
