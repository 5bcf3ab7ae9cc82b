import type { EndpointDelivery, EventDetails, EventListItem, UndeliveredEvent } from "@herald/contracts";
import { idsFrom } from "../database/ids.ts";
import type { Reads } from "../database/queries.ts";
import { type AtEndpoint, deliveriesAtEndpoints, findDelivery } from "./sql/deliveries.ts";
import { type EventKeysQuery, type EventRow, eventKeys, readEvents, undeliveredEvents } from "./sql/events.ts";
import { entityTypeOf, toListItem, toUtc } from "./summary.ts";
import { cutPart, timeOfPart, whyNoDelivery } from "./why-no-delivery.ts";

export interface SearchParts {
  queries: Reads;
  now: Date;
  /** How far back events are delivered, in milliseconds. */
  windowMs: number;
}

/** The search's terms; ids are in lower case. */
export interface EventSearch extends EventKeysQuery {
  deliveryId: string | null;
}

export interface FoundEvents {
  events: EventListItem[];
  /** Where a manual delivery was looked for: it is of no event. */
  manualDelivery: EndpointDelivery | null;
  /** The events that came in the time of this part and were not taken. None where an entity or a delivery is looked for: it is not known of them. */
  undelivered: UndeliveredEvent[];
  /** The key before which the next part ends; null if there is none. */
  next: string | null;
}

/** For the API, and for operators. Its cost follows from `limit` and the number of endpoints, not from what is stored. */
export async function searchEvents(parts: SearchParts, search: EventSearch): Promise<FoundEvents> {
  const { organizationId, deliveryId } = search;
  if (deliveryId !== null) return await searchByDelivery(parts, search, deliveryId);
  const found = await eventKeys(parts.queries, search);
  const { undelivered, next } = await undeliveredUpTo(parts, search, found.next);
  const keys = next === null ? found.keys : found.keys.filter((key) => key >= next);
  const rows = await readEvents(parts.queries, { organizationId, keys, withBody: false });
  const events = await withEndpoints(parts, organizationId, rows);
  return { events, manualDelivery: null, undelivered, next };
}

/** How many events that were not taken a part has room for. */
const UNDELIVERED = 100;

/** The events that were not taken in the time of a part, and where the part ends: at `next`, or earlier where there are too many. */
async function undeliveredUpTo(
  { queries }: SearchParts,
  { firstKey, before, ...search }: EventSearch,
  next: string | null,
): Promise<{ undelivered: UndeliveredEvent[]; next: string | null }> {
  if (search.entityId !== null) return { undelivered: [], next };
  const time = timeOfPart({ next: next ?? firstKey, before });
  const found = await undeliveredEvents(queries, { ...search, ...time, limit: UNDELIVERED + 1 });
  const cut = cutPart(found, UNDELIVERED);
  const undelivered = cut.rows.map(({ cameAt, ...row }) => ({ ...row, cameAtUtc: toUtc(cameAt) }));
  return { undelivered, next: cut.next ?? next };
}

async function searchByDelivery(parts: SearchParts, search: EventSearch, id: string): Promise<FoundEvents> {
  const { queries, now } = parts;
  const { organizationId, ...conditions } = search;
  const found = await findDelivery(queries, { id, organizationId, now });
  const nothing = { events: [], manualDelivery: null, undelivered: [], next: null };
  if (found === null) return nothing;
  if (found.eventKey === null) {
    if (!isAnyEvent(conditions)) return nothing;
    const { endpointId, endpointName } = found;
    const delivery = toListItem({ ...found, businessEventId: null, entityId: null });
    return { ...nothing, manualDelivery: { endpointId, endpointName, delivery, reason: null } };
  }
  const rows = await readEvents(queries, { organizationId, keys: [found.eventKey], withBody: false });
  const fitting = rows.filter((row) => fits(row, conditions));
  return { ...nothing, events: await withEndpoints(parts, organizationId, fitting) };
}

type Conditions = Omit<EventSearch, "organizationId">;

function isAnyEvent({ eventId, entityId, idPrefix, types, firstKey, before }: Conditions): boolean {
  return [eventId, entityId, idPrefix, firstKey, before].every((each) => each === null) && types.length === 0;
}

/** Whether a row meets the conditions: the same ones as in the statement of `eventKeys`. */
function fits(row: EventRow, { eventId, entityId, idPrefix, types, firstKey, before }: Conditions): boolean {
  const ids = idPrefix === null ? null : idsFrom(idPrefix);
  return (
    (eventId === null || row.id === eventId) &&
    (entityId === null || row.entityId === entityId) &&
    (ids === null || [row.id, row.entityId].some((id) => id >= ids.first && id <= ids.last)) &&
    (types.length === 0 || types.includes(row.type)) &&
    (firstKey === null || row.key >= firstKey) &&
    (before === null || row.key < before)
  );
}

/** One event with its body; null if the organization has none with this key. */
export async function readEvent(
  parts: SearchParts,
  { organizationId, key }: { organizationId: string; key: string },
): Promise<EventDetails | null> {
  const rows = await readEvents(parts.queries, { organizationId, keys: [key], withBody: true });
  const [event] = await withEndpoints(parts, organizationId, rows);
  return event === undefined ? null : { ...event, body: rows[0]?.body ?? "" };
}

async function withEndpoints(
  parts: SearchParts,
  organizationId: string,
  rows: readonly EventRow[],
): Promise<EventListItem[]> {
  if (rows.length === 0) return [];
  const { queries, now } = parts;
  const pairs = await deliveriesAtEndpoints(queries, { organizationId, keys: rows.map(({ key }) => key), now });
  const byKey = Map.groupBy(pairs, ({ eventKey }) => eventKey);
  return rows.map((row) => ({
    key: row.key,
    id: row.id,
    type: row.type,
    occurredAtUtc: toUtc(row.occurredAt),
    receivedAtUtc: toUtc(row.receivedAt),
    entityType: entityTypeOf(row.head),
    entityId: row.entityId,
    traceparent: row.traceparent,
    endpoints: (byKey.get(row.key) ?? []).map((pair) => toEndpointDelivery(row, pair, parts)),
  }));
}

function toEndpointDelivery(event: EventRow, pair: AtEndpoint, { now, windowMs }: SearchParts): EndpointDelivery {
  const { endpointId, endpointName, isEndpointEnabled, endpointEvents: events, endpointCreatedAt: createdAt } = pair;
  if (pair.id !== null) {
    const delivery = toListItem({ ...pair, businessEventId: event.id, entityId: event.entityId });
    return { endpointId, endpointName, delivery, reason: null };
  }
  const reason = whyNoDelivery(event, { events, createdAt, isEnabled: isEndpointEnabled }, { now, windowMs });
  return { endpointId, endpointName, delivery: null, reason };
}
