import type { NoDeliveryReason } from "@herald/contracts";
import { firstIdAt, timeOf } from "../database/ids.ts";

/**
 * Why an endpoint has no delivery of a stored event. No reason is stored: it would cost a row for each delivery that is not made, and would not stay
 * true. This function applies the rules of fan-out and catch-up to the endpoint as it is now. If no rule excludes the delivery, the fan-out or a
 * catch-up will make it soon ("not_yet").
 */
export function whyNoDelivery(
  { type, occurredAt }: { type: string; occurredAt: Date },
  { events, createdAt, isEnabled }: { events: readonly string[]; createdAt: Date; isEnabled: boolean },
  { now, windowMs }: { now: Date; windowMs: number },
): NoDeliveryReason {
  if (createdAt > occurredAt) return "created_later";
  if (!events.includes(type)) return "not_subscribed";
  if (occurredAt.getTime() < now.getTime() - windowMs) return "older_than_window";
  return isEnabled ? "not_yet" : "disabled";
}

// Events that were taken and events that were not are one list, in parts. The first are in the order of their keys. One that was not
// taken has none: it stands where the first key of the millisecond in which it came would.

/** The time of the part between two keys, without the newer one: from one time on, and before the other. Null is no limit. */
export function timeOfPart({ next, before }: Record<"next" | "before", string | null>) {
  return { from: next === null ? null : firstTimeFrom(next), to: before === null ? null : firstTimeFrom(before) };
}

/** The first millisecond whose first key is not before this one. */
function firstTimeFrom(key: string): Date {
  const time = timeOf(key);
  return firstIdAt(time) === key ? time : new Date(time.getTime() + 1);
}

/**
 * The rows that a part has room for, and where it ends for their sake; `next` is null if all of them have room. The rows of a
 * millisecond stay together; where one has more than `room`, the others are left out, so that the parts end.
 * @param rows newest first; one more than there is room for says that there are others
 */
export function cutPart<Row extends { cameAt: Date }>(
  rows: readonly Row[],
  room: number,
): { rows: Row[]; next: string | null } {
  const first = rows[room];
  if (first === undefined) return { rows: [...rows], next: null };
  const cutAt = first.cameAt.getTime();
  const whole = rows.filter(({ cameAt }) => cameAt.getTime() > cutAt);
  if (whole.length > 0) return { rows: whole, next: firstIdAt(new Date(cutAt + 1)) };
  return { rows: rows.slice(0, room), next: firstIdAt(first.cameAt) };
}
