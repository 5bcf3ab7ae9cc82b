/**
 * How many attempts this process makes at once. Endpoints that are not known to answer within a second have half of the permits
 * together, however many organizations they belong to. So receivers that hang never hold up those that are quick. Pure.
 */
export interface Permits {
  /** Whether one more attempt may begin to an endpoint of this speed. */
  mayTake(isQuick: boolean): boolean;
  /** Takes a permit, free or not: who must wait asks first. */
  take(isQuick: boolean): Permit;
}

/** Of one attempt. Each step may be called once or more, in this order. */
export interface Permit {
  /** The attempt takes longer than {@link SLOW_MS}: it counts with the slow ones. */
  slow(): void;
  /** The attempt is over. Until it is settled it takes room, so that unsettled results stay bounded. */
  ended(): void;
  settled(): void;
}

/** An attempt, or an endpoint's attempts as a rule, that take longer are slow. A healthy receiver answers much earlier. */
export const SLOW_MS = 1_000;

export function createPermits(total: number): Permits {
  const forSlow = Math.max(1, Math.floor(total / 2));
  let taken = 0;
  let slow = 0;
  return {
    mayTake: (isQuick) => taken < total && (isQuick || slow < forSlow),
    take(isQuick) {
      let isSlow = !isQuick;
      let isOver = false;
      let isSettled = false;
      taken++;
      if (isSlow) slow++;
      function ended(): void {
        isOver = true;
        if (isSlow) slow--;
        isSlow = false;
      }
      return {
        slow() {
          if (isSlow || isOver) return;
          isSlow = true;
          slow++;
        },
        ended,
        settled() {
          if (isSettled) return;
          isSettled = true;
          ended();
          taken--;
        },
      };
    },
  };
}
