export interface TurnTaker {
  readonly id: string;
  readonly organizationId: string;
}

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
