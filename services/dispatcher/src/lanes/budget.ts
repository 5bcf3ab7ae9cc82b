import { createQuotas } from "./quotas.ts";

/**
 * What this process spends on attempts, shared between organizations (quotas.ts). There is one for all lanes: each lane has a number of
 * attempts that it makes at once, and one bound holds for everything in flight.
 */
export interface Budget {
  /** A lane that makes so many attempts at once. Slow ones do not count. */
  lane(concurrency: number): Lane;
}

/** Places for attempts of one kind: due, interrupted or manual deliveries. Pure: who calls it watches the time. */
export interface Lane {
  /** Takes up to `count` places for this organization; returns how many it may have. */
  takeUpTo(organizationId: string, count: number, options?: { othersWait?: boolean }): number;
  /** Gives back places that no attempt came to use. */
  giveBack(organizationId: string, count: number): void;
  /** An attempt begins in a place that was taken for it. */
  begin(organizationId: string): Place;
  isFull(): boolean;
}

/** The place of one attempt. Each step is to be called once at the most, and `settled` in the end. */
export interface Place {
  /** The attempt has taken {@link SLOW_AFTER_MS}: it leaves the lane's count, within the bound on everything in flight. */
  slow(): void;
  /** The attempt is over. Until it is settled it counts, however slow it was, so that unsettled results stay bounded. */
  ended(): void;
  settled(): void;
}

/** After this time an attempt counts as slow. A healthy receiver answers much earlier. */
export const SLOW_AFTER_MS = 1_000;

/** @param options.maxInFlight attempts of all lanes, slow ones included */
export function createBudget({ maxInFlight }: { maxInFlight: number }): Budget {
  // Slow receivers hold their places for long. So even an organization that is alone leaves a quarter to the next one that comes.
  const inFlight = createQuotas({ total: maxInFlight, alone: Math.ceil((maxInFlight * 3) / 4) });
  return {
    lane(concurrency) {
      const counting = createQuotas({ total: concurrency });
      return {
        takeUpTo(organizationId, count, { othersWait = false } = {}) {
          const room = Math.min(
            counting.roomOf(organizationId, othersWait),
            inFlight.roomOf(organizationId, othersWait),
          );
          const taken = Math.min(count, room);
          counting.take(organizationId, taken);
          inFlight.take(organizationId, taken);
          return taken;
        },
        giveBack(organizationId, count) {
          counting.release(organizationId, count);
          inFlight.release(organizationId, count);
        },
        begin(organizationId) {
          let counts = true;
          let attempting = true;
          function count(on: boolean): void {
            if (counts === on) return;
            counts = on;
            if (on) counting.take(organizationId, 1);
            else counting.release(organizationId, 1);
          }
          function ended(): void {
            if (!attempting) return;
            attempting = false;
            inFlight.release(organizationId, 1);
            count(true);
          }
          return {
            slow() {
              if (attempting) count(false);
            },
            ended,
            settled() {
              ended();
              count(false);
            },
          };
        },
        isFull: () => counting.free() <= 0 || inFlight.free() <= 0,
      };
    },
  };
}
