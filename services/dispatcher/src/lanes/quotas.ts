/**
 * Something of which there is only so much (attempts at once, bytes of bodies), shared between organizations. Pure: it counts, and
 * nothing else.
 *
 * An organization that is alone may take all up to `alone`. While others hold some or wait for some, it may take no more than a quarter,
 * and no more than it leaves free. So whoever comes next finds something free, however many hold on to what they have.
 */
export interface Quotas {
  /** How much more this organization may take now, at least 0. */
  roomOf(organizationId: string, othersWait?: boolean): number;
  /** Takes so much, room or not. */
  take(organizationId: string, amount: number): void;
  /** @throws where so much was not taken: a bound that is released twice is none */
  release(organizationId: string, amount: number): void;
  heldBy(organizationId: string): number;
  free(): number;
}

/** @param options.alone what one organization may hold while no other is there; `total` where absent */
export function createQuotas({ total, alone = total }: { total: number; alone?: number }): Quotas {
  // Holds only organizations with something, so it is as small as the work under way.
  const held = new Map<string, number>();
  let taken = 0;

  const heldBy = (organizationId: string) => held.get(organizationId) ?? 0;

  function add(organizationId: string, amount: number): void {
    const now = heldBy(organizationId) + amount;
    if (now < 0) throw new Error(`${-amount} are released, of which ${heldBy(organizationId)} were taken.`);
    if (now > 0) held.set(organizationId, now);
    else held.delete(organizationId);
    taken += amount;
  }

  return {
    roomOf(organizationId, othersWait = false) {
      const own = heldBy(organizationId);
      const free = total - taken;
      const isAlone = !othersWait && held.size === (own > 0 ? 1 : 0);
      if (isAlone) return Math.max(0, Math.min(alone - own, free));
      const quarter = Math.max(1, Math.floor(total / 4));
      // Each that it takes is one more held and one less free.
      return Math.max(0, Math.min(quarter - own, Math.ceil((free - own) / 2)));
    },
    take: (organizationId, amount) => add(organizationId, amount),
    release: (organizationId, amount) => add(organizationId, -amount),
    heldBy,
    free: () => total - taken,
  };
}
