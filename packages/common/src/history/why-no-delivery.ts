import type { NoDeliveryReason } from "@herald/contracts";

/** The facts of an event that decide whether it had a delivery. */
export interface EventFacts {
  type: string;
  occurredAt: Date;
}

/** The facts of an endpoint, as it is now, that decide whether an event had a delivery. */
export interface EndpointFacts {
  events: readonly string[];
  createdAt: Date;
  isEnabled: boolean;
}

/**
 * Why an endpoint has no delivery of a stored event. Nothing stores a reason: it would cost a row for each delivery that is not made,
 * and would not stay true. This holds the rules of fan-out and catch-up against the endpoint as it is
 * now: what is neither too early, nor unwanted, nor too old, nor held back, one of the two is about to make.
 *
 * @param windowMs how far back events are delivered (SPEC 6.1: seven days)
 */
export function whyNoDelivery(
  { type, occurredAt }: EventFacts,
  { events, createdAt, isEnabled }: EndpointFacts,
  { now, windowMs }: { now: Date; windowMs: number },
): NoDeliveryReason {
  if (createdAt > occurredAt) return "created_later";
  if (!events.includes(type)) return "not_subscribed";
  if (occurredAt.getTime() < now.getTime() - windowMs) return "older_than_window";
  return isEnabled ? "not_yet" : "disabled";
}
