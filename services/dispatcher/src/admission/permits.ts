/**
 * How soon an endpoint answers: it has just answered within a second, does so as a rule, or is slow or not known. Many that were quick may turn
 * slow at the same moment, as behind one provider, and that shows only a second later.
 */
export type Speed = "answering" | "quick" | "slow";
export const SPEEDS: readonly Speed[] = ["answering", "quick", "slow"];

/**
 * How many attempts this process makes at once. Endpoints that are slow have half of the permits together, however many organizations they belong
 * to, and three quarters with those that are only quick as a rule. So receivers that hang, or begin to, never hold up those that answer. Pure.
 */
export interface Permits {
  /** Whether one more attempt may begin to an endpoint of this speed. */
  mayTake(speed: Speed): boolean;
  /** Takes a permit, free or not: who must wait asks first. */
  take(speed: Speed): Permit;
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
  const forNotAnswering = Math.max(1, Math.floor((3 * total) / 4));
  let taken = 0;
  let slow = 0;
  let notAnswering = 0;
  return {
    mayTake(speed) {
      if (taken >= total) return false;
      if (speed === "answering") return true;
      return notAnswering < forNotAnswering && (speed === "quick" || slow < forSlow);
    },
    take(speed) {
      let current: Speed | "over" = "answering";
      let isSettled = false;
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
        slow() {
          if (current !== "over") become("slow");
        },
        ended: () => become("over"),
        settled() {
          if (isSettled) return;
          isSettled = true;
          become("over");
          taken--;
        },
      };
    },
  };
}
