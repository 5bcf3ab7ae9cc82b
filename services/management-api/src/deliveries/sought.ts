import { deliveryId, firstIdAt, lastIdAt, timeOf } from "@herald/common/database/ids";

/** The deliveries of some events that some endpoints may have. */
export interface Sought {
  ids: string[];
  /** Older ones come before this id; null where there are none. */
  rest: string | null;
}

export interface SoughtOptions {
  endpointIds: readonly string[];
  /** Only deliveries older than this one; null for all. */
  olderThan: string | null;
  /** There may be older events than these. */
  isCut: boolean;
}

/**
 * The ids of the deliveries that endpoints have of events, if they have them: each is a function of event and endpoint.
 *
 * Ids begin with the event's time, but within a millisecond keys and delivery ids are in different orders. So where the events
 * were cut, those of the last millisecond come with the next part, as a whole.
 *
 * @param keys of the events, newest first
 */
export function soughtDeliveries(keys: readonly string[], { endpointIds, olderThan, isCut }: SoughtOptions): Sought {
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

/** Before which key the events begin whose deliveries are older than one: with all of its millisecond. */
export function keysBefore(olderThan: string): string {
  const time = timeOf(olderThan);
  return olderThan === firstIdAt(time) ? olderThan : lastIdAt(time);
}
