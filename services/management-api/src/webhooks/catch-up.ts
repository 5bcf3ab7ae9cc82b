/** How long the publisher goes on looking for missing events, for those whose fan-out was under way at the edit. */
const CATCH_UP_MS = 60_000;

/**
 * Marks for the publisher to act on: it wakes an endpoint's parked deliveries and adds those of the events that it
 * misses. Null where nothing calls for it.
 */
export function catchUpMarks(isNeeded: boolean, now: Date): { catchUpAt: Date; catchUpUntil: Date | null } {
  return isNeeded
    ? { catchUpAt: now, catchUpUntil: new Date(now.getTime() + CATCH_UP_MS) }
    : { catchUpAt: now, catchUpUntil: null };
}
