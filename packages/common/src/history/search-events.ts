import type { EndpointDelivery, EventDetails, EventListItem, UndeliveredEvent } from "@herald/contracts";
import type { Reads } from "../database/queries.ts";
import { entityTypeOf } from "./entity-type.ts";
import { type AtEndpoint, deliveriesAtEndpoints } from "./sql/deliveries-at-endpoints.ts";
import { type EventKeysQuery, eventKeys } from "./sql/event-keys.ts";
import { findDelivery } from "./sql/find-delivery.ts";
import { type EventRow, readEvents } from "./sql/read-events.ts";
import { undeliveredEvents } from "./sql/undelivered-events.ts";
import { toListItem, toUtc } from "./summary.ts";
import { whyNoDelivery } from "./why-no-delivery.ts";

export interface SearchParts {
  queries: Reads;
  now: Date;
  /** How far back events are delivered, in milliseconds. */
  windowMs: number;
}

/** What is looked for: one of the three ids at least, and where several are given, all of them have to fit. In lower case. */
export interface EventSearch extends EventKeysQuery {
  deliveryId: string | null;
}

export interface FoundEvents {
  events: EventListItem[];
  /** Where a manual delivery was looked for: it is of no event. */
  manualDelivery: EndpointDelivery | null;
  /** Where an event was looked for by its id, and nothing else: what came with the id and was not taken. */
  undelivered: UndeliveredEvent[];
  /** The key before which the next part ends; null where there is none. */
  next: string | null;
}

/**
 * Finds events of an organization, newest first, and what became of each at every endpoint: for the API, and for operators.
 * What it costs follows from `limit` and the number of endpoints, not from what is stored.
 */
export async function searchEvents(parts: SearchParts, search: EventSearch): Promise<FoundEvents> {
  const { organizationId, deliveryId, limit } = search;
  if (deliveryId !== null) return await searchByDelivery(parts, search, deliveryId);
  const keys = await eventKeys(parts.queries, search);
  const rows = await readEvents(parts.queries, { organizationId, keys, withBody: false });
  const next = keys.length === limit ? (keys.at(-1) ?? null) : null;
  const events = await withEndpoints(parts, organizationId, rows);
  return { events, manualDelivery: null, undelivered: await undeliveredOf(parts, search), next };
}

async function undeliveredOf(
  { queries }: SearchParts,
  { organizationId, eventId, entityId, before }: EventSearch,
): Promise<UndeliveredEvent[]> {
  if (eventId === null || entityId !== null || before !== null) return [];
  const rows = await undeliveredEvents(queries, { organizationId, eventId });
  return rows.map(({ cameAt, ...row }) => ({ ...row, cameAtUtc: toUtc(cameAt) }));
}

async function searchByDelivery(
  parts: SearchParts,
  { organizationId, eventId, entityId, before }: EventSearch,
  id: string,
): Promise<FoundEvents> {
  const { queries, now } = parts;
  const found = await findDelivery(queries, { id, organizationId, now });
  const nothing = { events: [], manualDelivery: null, undelivered: [], next: null };
  if (found === null) return nothing;
  if (found.eventKey === null) {
    if (eventId !== null || entityId !== null || before !== null) return nothing;
    const { endpointId, endpointName } = found;
    const delivery = toListItem({ ...found, businessEventId: null });
    return { ...nothing, manualDelivery: { endpointId, endpointName, delivery, reason: null } };
  }
  const rows = await readEvents(queries, { organizationId, keys: [found.eventKey], withBody: false });
  const fitting = rows.filter(
    (row) =>
      (eventId === null || row.id === eventId) &&
      (entityId === null || row.entityId === entityId) &&
      (before === null || row.key < before),
  );
  return { ...nothing, events: await withEndpoints(parts, organizationId, fitting) };
}

/** One event with its body; null where the organization has none with this key. */
export async function readEvent(
  parts: SearchParts,
  { organizationId, key }: { organizationId: string; key: string },
): Promise<EventDetails | null> {
  const rows = await readEvents(parts.queries, { organizationId, keys: [key], withBody: true });
  const [event] = await withEndpoints(parts, organizationId, rows);
  return event === undefined ? null : { ...event, body: rows[0]?.body ?? "" };
}

async function withEndpoints(
  { queries, now, windowMs }: SearchParts,
  organizationId: string,
  rows: readonly EventRow[],
): Promise<EventListItem[]> {
  if (rows.length === 0) return [];
  const pairs = await deliveriesAtEndpoints(queries, { organizationId, keys: rows.map(({ key }) => key), now });
  const byKey = new Map<string, AtEndpoint[]>();
  for (const pair of pairs) {
    const known = byKey.get(pair.eventKey);
    if (known) known.push(pair);
    else byKey.set(pair.eventKey, [pair]);
  }
  return rows.map((row) => ({
    key: row.key,
    id: row.id,
    type: row.type,
    occurredAtUtc: toUtc(row.occurredAt),
    receivedAtUtc: toUtc(row.receivedAt),
    entityType: entityTypeOf(row.head),
    entityId: row.entityId,
    traceparent: row.traceparent,
    endpoints: (byKey.get(row.key) ?? []).map((pair) => toEndpointDelivery(row, pair, { now, windowMs })),
  }));
}

function toEndpointDelivery(
  event: EventRow,
  pair: AtEndpoint,
  { now, windowMs }: Pick<SearchParts, "now" | "windowMs">,
): EndpointDelivery {
  const { endpointId, endpointName, isEndpointEnabled, endpointEvents: events, endpointCreatedAt: createdAt } = pair;
  if (pair.id !== null) {
    const delivery = toListItem({ ...pair, businessEventId: event.id });
    return { endpointId, endpointName, delivery, reason: null };
  }
  const reason = whyNoDelivery(event, { events, createdAt, isEnabled: isEndpointEnabled }, { now, windowMs });
  return { endpointId, endpointName, delivery: null, reason };
}
