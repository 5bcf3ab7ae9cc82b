import { deliveryId, firstIdAt, lastIdAt, timeOf } from "@herald/common/database/ids";
import type { Period } from "../sql/delivery-history.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** An event may be an hour ahead of its delivery; clocks differ by less than the rest. */
const MAX_AHEAD_MS = 1.1 * HOUR_MS;
/** A catch-up that takes long makes deliveries of events that have left the window by then. */
const CATCH_UP_MS = DAY_MS;

/** The period of a filter about when deliveries were made. Ids begin with the time of the event, which is never far from that. */
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

export interface FilteredDeliveries {
  ids: string[];
  /** Older ones come before this id; null if there are none. */
  rest: string | null;
}

/**
 * The ids of the deliveries that endpoints have of events, if they have them: each is a function of event and endpoint.
 *
 * Ids begin with the event's time, but within a millisecond keys and delivery ids are in different orders. So if the events
 * were cut, those of the last millisecond come with the next part, all together.
 * @param keys of the events, newest first; if they are cut, there may be older ones
 */
export function deliveriesOf(
  keys: readonly string[],
  { endpointIds, olderThan, isCut }: { endpointIds: readonly string[]; olderThan: string | null; isCut: boolean },
): FilteredDeliveries {
  const idsOf = (some: readonly string[]) =>
    some
      .flatMap((key) => endpointIds.map((endpointId) => deliveryId(key, endpointId)))
      .filter((id) => olderThan === null || id < olderThan);
  const oldest = keys.at(-1);
  if (!isCut || oldest === undefined) return { ids: idsOf(keys), rest: null };
  const cutAt = timeOf(oldest).getTime();
  const whole = keys.filter((key) => timeOf(key).getTime() > cutAt);
  if (whole.length > 0) return { ids: idsOf(whole), rest: firstIdAt(new Date(cutAt + 1)) };
  // One entity has more events in this millisecond than are looked at. The others are left out, so that the parts end.
  return { ids: idsOf(keys), rest: firstIdAt(new Date(cutAt)) };
}

/** The key before which to read events for the deliveries that are older than this one. It includes the delivery's millisecond. */
export function keysBefore(olderThan: string): string {
  const time = timeOf(olderThan);
  return olderThan === firstIdAt(time) ? olderThan : lastIdAt(time);
}
