import { firstIdAt } from "@herald/common/database/ids";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** An event may be an hour ahead of its delivery; clocks differ by less than the rest. */
const MAX_AHEAD_MS = 1.1 * HOUR_MS;
/** A catch-up that takes long makes deliveries of events that have left the window meanwhile. */
const CATCH_UP_MS = DAY_MS;

/** A part of a history's time, and between which ids all of it lies, the second excluded. Null is no limit. */
export interface Period {
  from: Date | null;
  to: Date | null;
  firstId: string | null;
  endId: string | null;
}

/**
 * The period that a filter's `from` and `to` mean, which are about when deliveries came to be. Ids begin with the time of the
 * event, which is never far from that.
 */
export function periodOf(filter: { from?: string; to?: string }, windowDays: number): Period {
  const from = filter.from === undefined ? null : new Date(filter.from);
  const to = filter.to === undefined ? null : new Date(filter.to);
  return {
    from,
    to,
    firstId: from && firstIdAt(new Date(from.getTime() - windowDays * DAY_MS - CATCH_UP_MS)),
    endId: to && firstIdAt(new Date(to.getTime() + MAX_AHEAD_MS)),
  };
}
