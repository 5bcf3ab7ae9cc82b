import { type HandOver, isUuid } from "@herald/contracts";
import type { Delivery } from "../sql/describe-deliveries.ts";

// PostgreSQL writes ids in lower case, and the owner's maps have that text as their key.
export const isId = (value: unknown): value is string => isUuid(value) && value === value.toLowerCase();

const isIds = (value: unknown) => Array.isArray(value) && value.every(isId);

export type Target = { endpointId: string; organizationId: string };
export const isTarget = (value: Partial<Target> | null) =>
  isId(value?.endpointId) && typeof value?.organizationId === "string";

export function isHandOver(content: Partial<HandOver>): content is HandOver {
  const { stored, events, deliveries, work } = content;
  return (
    typeof stored === "boolean" &&
    Array.isArray(events) &&
    events.every(isEvent) &&
    Array.isArray(deliveries) &&
    deliveries.every((each) => isTarget(each) && isId(each.deliveryId) && isTime(each.readAtUtc)) &&
    Array.isArray(work) &&
    work.every((each) => isTarget(each) && (each.arrived === undefined || isIds(each.arrived)))
  );
}

function isEvent(event: Partial<HandOver["events"][number]> | null): boolean {
  if (typeof event?.body !== "string" || typeof event.eventType !== "string") return false;
  return isId(event.key) && isTime(event.receivedAtUtc);
}

export function isTime(value: unknown): value is string {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

export function deliveryOf(
  { deliveryId, endpointId, organizationId, revision }: HandOver["deliveries"][number],
  { eventType, body, traceparent, key: eventKey, receivedAtUtc }: HandOver["events"][number],
  stored: boolean,
): Delivery {
  const receivedAt = new Date(receivedAtUtc);
  const bodyBytes = Buffer.byteLength(body);
  const of = { deliveryId, endpointId, organizationId, eventType, body, bodyBytes, traceparent, eventKey };
  const never = { attempts: 0, interruptions: 0, handedOver: true, arrived: stored ? undefined : { revision } };
  return { ...of, dueAt: receivedAt, createdAt: receivedAt, ...never };
}
