import { Counts } from "@herald/common/runtime/counts";

type TurnTaker = { readonly id: string; readonly organizationId: string };

/** Gives turns: organizations take turns, and the endpoints of each. A turn is one attempt, so even a few free permits are shared evenly. */
export function createTurns<Taker extends TurnTaker>() {
  /** Maps keep their order: the first organization has waited longest, and so has its first endpoint. */
  const organizations = new Map<string, Map<string, Taker>>();

  return {
    /** The taker waits for a turn from now on; if it waits already, it keeps its place. */
    add(taker: Taker): void {
      const takers = organizations.get(taker.organizationId);
      if (takers === undefined) organizations.set(taker.organizationId, new Map([[taker.id, taker]]));
      else if (!takers.has(taker.id)) takers.set(taker.id, taker);
    },
    remove({ id, organizationId }: Taker): void {
      const takers = organizations.get(organizationId);
      if (takers?.delete(id) && takers.size === 0) organizations.delete(organizationId);
    },
    /** Removes the taker whose turn it is. Its organization goes behind the others. */
    next(): Taker | undefined {
      for (const [organizationId, takers] of organizations) {
        const taker = takers.values().next().value as Taker;
        organizations.delete(organizationId);
        takers.delete(taker.id);
        if (takers.size > 0) organizations.set(organizationId, takers);
        return taker;
      }
      return undefined;
    },
  };
}

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
