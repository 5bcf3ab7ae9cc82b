import type { DeliveryListItem } from "@herald/contracts";

/** So much of an id that people can tell it from others, and that a search takes. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** What a delivery is of, in words. Ids of deliveries begin with the time, so of a manual one the end tells it from others. */
export function deliveryWords({ id, eventType, businessEventId, entityId }: DeliveryListItem): string {
  if (businessEventId === undefined) return `${eventType}, manual delivery ${id.slice(-8)}`;
  const entity = entityId === null ? "" : `, entity ${shortId(entityId)}`;
  return `${eventType}${entity}, event ${shortId(businessEventId)}`;
}
