/**
 * The times of an attempt on arrival, in milliseconds. Publisher and owner each keep some of them, and an attempt is made once only while they fit
 * together: arrival.test.ts has the rules. See ADR 46.
 */
export const ARRIVAL = {
  /** A publisher stores an event first if it occurred longer ago: it may have come before, in another message. */
  freshMs: 10_000,
  /** The clock of an emitter may be ahead by this much. */
  aheadMs: 1_000,
  /** While a statement of a publisher takes longer, PostgreSQL may be away, and results could not be stored: nothing is handed over. */
  slowMs: 1_000,
  /** A publisher uses its cache of subscriptions for this time. */
  subscriptionMs: 60_000,
  /** A publisher stores an event this long after it was handed over, so that its owners store the results first. */
  storedAfterMs: 300,
  /** Then the oldest event waits this much longer, so that one statement stores more events. */
  togetherMs: 150,
  /** An owner attempts nothing that was handed over longer ago and is not stored: by now it is stored, or it could not be stored. */
  unstoredMs: 1_000,
  /** An owner reads a stored delivery from PostgreSQL if it was handed over longer ago. Messages may wait as long as the broker's alarms last. */
  handedOverMs: 10_000,
  /** An owner remembers an ended attempt for this time, so that it does not make a second copy of it. */
  rememberedMs: 15_000,
  /** A new owner of a shard attempts nothing on arrival for this time: it does not know the attempts of the owner before. */
  newOwnerMs: 15_000,
};
