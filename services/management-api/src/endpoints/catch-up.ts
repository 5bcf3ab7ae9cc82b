/** How long the publisher goes on looking for missing events, for those whose fan-out was under way at the edit. */
const CATCH_UP_MS = 60_000;

/**
 * Until when a new, resumed or newly subscribed endpoint is caught up. `catch_up_at` and `catch_up_until` are marks for the
 * publisher: it wakes the endpoint's parked deliveries and adds those of the events that it misses.
 */
export function catchUpEnd(now: Date): Date {
  return new Date(now.getTime() + CATCH_UP_MS);
}
