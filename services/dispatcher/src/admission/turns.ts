/** What takes turns: an endpoint of an organization. */
export interface TurnTaker {
  readonly id: string;
  readonly organizationId: string;
}

/**
 * Whose turn it is: organizations take turns, and the endpoints of each. A turn is one attempt, so what is free is shared evenly, also
 * where it is little. Pure: no I/O and no time.
 */
export function createTurns<Taker extends TurnTaker>() {
  /** Maps keep their order: the first organization has waited longest, and of its endpoints the first. */
  const organizations = new Map<string, Map<string, Taker>>();

  return {
    /** It waits for a turn from now on; where it waits already, it keeps its place. */
    add(taker: Taker): void {
      const takers = organizations.get(taker.organizationId);
      if (takers === undefined) organizations.set(taker.organizationId, new Map([[taker.id, taker]]));
      else if (!takers.has(taker.id)) takers.set(taker.id, taker);
    },
    remove({ id, organizationId }: Taker): void {
      const takers = organizations.get(organizationId);
      if (takers?.delete(id) && takers.size === 0) organizations.delete(organizationId);
    },
    /** Removes the one whose turn it is. Its organization goes behind the others. */
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
