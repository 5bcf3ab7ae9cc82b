import { setLatest } from "@herald/common/runtime/latest";

/**
 * How soon an endpoint answers: it answered quickly just now, it does so as a rule, or it is slow or unknown. Many that were quick may turn slow at
 * the same moment, as behind one provider, and that shows only a second later.
 */
export type Speed = "answering" | "quick" | "slow";
export const SPEEDS: readonly Speed[] = ["answering", "quick", "slow"];

export type Permits = ReturnType<typeof createPermits>;
/** The permit of one attempt. Each step may be called once or more, in the order `slow`, `ended`, `settled`. */
export type Permit = ReturnType<Permits["take"]>;

/** An attempt that takes longer is slow. A healthy receiver answers much earlier. */
export const SLOW_MS = 1_000;

/**
 * The permits for attempts that this process makes at once. Slow endpoints have half of them together, however many organizations they belong to, and
 * three quarters together with those that are only quick as a rule. So receivers that hang, or begin to, never delay those that answer. Pure.
 */
export function createPermits(total: number) {
  const forSlow = Math.max(1, Math.floor(total / 2));
  const forNotAnswering = Math.max(1, Math.floor((3 * total) / 4));
  let taken = 0;
  let locked = 0;
  let slow = 0;
  let notAnswering = 0;
  return {
    mayTake(speed: Speed): boolean {
      if (taken >= total) return false;
      if (speed === "answering") return true;
      return notAnswering < forNotAnswering && (speed === "quick" || slow < forSlow);
    },
    /** Takes a permit, free or not: an attempt that has to wait asks {@link mayTake} first. */
    take(speed: Speed) {
      let current: Speed | "over" = "answering";
      let isSettled = false;
      let isLocked = false;
      taken++;
      function become(next: Speed | "over"): void {
        if (current === "slow") slow--;
        if (current === "slow" || current === "quick") notAnswering--;
        current = next;
        if (current === "slow") slow++;
        if (current === "slow" || current === "quick") notAnswering++;
      }
      become(speed);
      return {
        /** The attempt takes longer than {@link SLOW_MS}: it counts with the slow ones. */
        slow(): void {
          if (current !== "over") become("slow");
        },
        /** The attempt is over, and its result waits for a locked row: another attempt may begin, if not too many results do. */
        locked(): void {
          if (isLocked || isSettled || locked >= total) return;
          isLocked = true;
          locked++;
          taken--;
        },
        /** The attempt is over. Until it is settled it takes room, so that unsettled results stay bounded. */
        ended: () => become("over"),
        settled(): void {
          if (isSettled) return;
          isSettled = true;
          become("over");
          if (isLocked) locked--;
          else taken--;
        },
      };
    },
  };
}

/** Permits that are kept for endpoints whose rows are being read. */
export function createReservations<Taker>() {
  const reserved = new Map<Taker, Permit[]>();
  return {
    add: (taker: Taker, permit: Permit) => void reserved.set(taker, [...(reserved.get(taker) ?? []), permit]),
    countOf: (taker: Taker) => reserved.get(taker)?.length ?? 0,
    take: (taker: Taker) => reserved.get(taker)?.pop(),
    end(taker: Taker): void {
      for (const permit of reserved.get(taker) ?? []) permit.settled();
      reserved.delete(taker);
    },
  };
}

const MAX_ENDPOINTS = 20_000;

/** The weight of the latest attempt in the mean. */
const LATEST = 0.3;

/** An endpoint with this mean is slow. No attempt counts as longer than {@link SLOW_MS}, so after one quick attempt the endpoint is quick again. */
const SLOW_MEAN_MS = 0.9 * SLOW_MS;

/** Attempts that end within this time count once: if this process itself was busy for a second, they say no more than that. */
const MOMENT_MS = 100;

/** An endpoint that answered longer ago is not known to answer now. When a crowd begins, this process itself may be busy for two or three seconds. */
const ANSWERING_MS = 5_000;

/** How soon endpoints answer. Kept beyond their work, and bounded: the endpoint with the oldest attempt is forgotten. */
export function createLatencies() {
  const known = new Map<string, { meanMs: number; atMs: number }>();
  return {
    speedOf(endpointId: string): Speed {
      const { meanMs, atMs } = known.get(endpointId) ?? { meanMs: Number.POSITIVE_INFINITY, atMs: 0 };
      if (meanMs >= SLOW_MEAN_MS) return "slow";
      return performance.now() - atMs < ANSWERING_MS ? "answering" : "quick";
    },
    took(endpointId: string, milliseconds: number): void {
      const atMs = performance.now();
      const latest = Math.min(milliseconds, SLOW_MS);
      const before = known.get(endpointId);
      if (before && atMs - before.atMs < MOMENT_MS) return;
      const meanMs = before ? before.meanMs + (latest - before.meanMs) * LATEST : latest;
      setLatest(known, endpointId, { meanMs, atMs }, MAX_ENDPOINTS);
    },
  };
}
