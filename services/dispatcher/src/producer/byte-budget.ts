import { Counts } from "@herald/common/runtime/counts";
import type { TurnTaker } from "./turns.ts";

/**
 * A budget of bytes for large bodies in memory. Organizations share it: while another one waits, none may have more than half. One body always fits
 * into an empty budget, else a large one would never be sent. Pure.
 */
export function createByteBudget<Taker extends TurnTaker>(total: number) {
  const takenBy = new Counts<string>();
  const waiting = new Set<Taker>();
  let taken = 0;

  return {
    /** Takes bytes, if they are free. Else the taker waits for them. */
    take(taker: Taker, bytes: number): boolean {
      const { organizationId } = taker;
      const own = takenBy.of(organizationId);
      const othersWait = [...waiting].some((other) => other.organizationId !== organizationId);
      const most = othersWait && own > 0 ? total / 2 : Number.POSITIVE_INFINITY;
      if (taken > 0 && (taken + bytes > total || own + bytes > most)) {
        waiting.add(taker);
        return false;
      }
      taken += bytes;
      takenBy.add(organizationId, bytes);
      return true;
    },
    /** Gives bytes back. @returns those that waited, to try again */
    release({ organizationId }: Taker, bytes: number): Taker[] {
      takenBy.add(organizationId, -bytes);
      taken -= bytes;
      const waited = [...waiting];
      waiting.clear();
      return waited;
    },
    leave: (taker: Taker) => void waiting.delete(taker),
  };
}
