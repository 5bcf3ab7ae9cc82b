import { ARRIVAL } from "@herald/common/broker/arrival";
import { onDaysOf } from "@herald/common/database/days";
import { nullable, oneRow, type Queries } from "@herald/common/database/queries";
import type { EndpointWithWork, ForOwners, IncomingEvent, NewDelivery } from "./rows.ts";

/** An event, and the endpoints that this page is for: at most `maxEndpoints`, with ids after `afterEndpointId`. */
export interface EventPage {
  event: IncomingEvent;
  /** {@link FIRST_ENDPOINT}, or the last endpoint of the page before. */
  afterEndpointId: string;
  maxEndpoints: number;
}

export const FIRST_ENDPOINT = "00000000-0000-0000-0000-000000000000";

export interface StoredEvents {
  /** The deliveries that this statement has made, for the owners of the endpoints. */
  made: ForOwners;
  /** The number of new deliveries, also those that their owners had stored before. */
  deliveryCount: number;
  /** The endpoints that get events like these, as the statement has read them; empty if some event has more endpoints than a page. */
  subscriptions: Subscription[];
  /** Pages whose events may have more endpoints, and the endpoint after which the next page begins. */
  unfinished: Map<EventPage, string>;
}

/** Which enabled endpoints of an organization want a type of events. */
export type Subscription = { organizationId: string; type: string; endpoints: SubscribedEndpoint[] };

export interface SubscribedEndpoint {
  id: string;
  revision: string;
  readAt: Date;
  createdAt: Date;
  owner: string | null;
  /** Whether its owner would attempt an event on arrival: the endpoint does not fail, and its owner is not new. */
  isReady: boolean;
}

interface Row {
  deliveryCount: number;
  madeCount: number;
  /** New deliveries with the keys of their events, unless there are more than {@link MAX_HANDED_OVER}. */
  deliveries: { id: string; endpointId: string; key: string }[];
  endpoints: (EndpointWithWork & { revision: string; createdAt: number; types: string[]; isReady: boolean })[];
  /** The keys of events that had been stored before. */
  repeated: string[];
  unfinished: { position: number; afterEndpointId: string }[];
}

/** If a statement makes more deliveries than this, only the endpoints are handed over: their owners read the deliveries in large pages. */
const MAX_HANDED_OVER = 1_000;

/**
 * Stores events, and makes a page of the deliveries of each, due since the event came.
 *
 * A delivery that the endpoint's owner has stored already, since the event was handed over on arrival (record-arrived.ts), is left alone: whichever
 * statement comes first, the delivery is the same row, and it is due only if it has not ended.
 *
 * An event goes to the endpoints that are enabled, subscribe to its type, and were created no later than it occurred. There may be thousands, so a
 * statement makes only a page of its deliveries. The ids are functions of the event, so existing rows stay as they are, and an event that comes
 * again gets its pages like a new one: the process that stored it may have died between two pages. If its type differs then, the type that was
 * stored first counts.
 *
 * If another transaction stores an event at the same moment, this statement waits for it, but can't see its row: the event counts as unfinished.
 *
 * An owner gets a delivery with the event's body only if that is surely the stored one: the event was stored just now, and is not twice among the
 * pages. Else the owner reads the body. The answer names the endpoints that get events of these types now, which costs nothing more.
 *
 * Endpoints are not locked. If one is deleted at the same moment, its new deliveries are erased with its others.
 *
 * Locks: what it inserts. Walks: business_event_pkey, delivery_pkey and due_pkey to insert, business_event_pkey for events that are stored already,
 * webhook_endpoint_organization_id_id_idx from each page's start, shard_pkey or all of its 256 rows.
 */
export async function storeEvents(queries: Queries, pages: readonly EventPage[], now: Date): Promise<StoredEvents> {
  const events = pages.map(({ event }) => event);
  const keys = events.map(({ key }) => key);
  const rows = await queries.$queryRaw<Row[]>`
    with incoming as materialized (
      select * from unnest(
        ${events.map((event) => event.organizationId)}::text[],
        ${events.map((event) => event.key)}::uuid[],
        ${events.map((event) => event.id)}::uuid[],
        ${events.map((event) => event.type)}::text[],
        ${events.map((event) => event.entityId)}::uuid[],
        ${events.map((event) => event.occurredAt)}::timestamptz[],
        ${events.map((event) => event.receivedAt)}::timestamptz[],
        ${events.map((event) => event.body)}::text[],
        ${nullable(events, (event) => event.traceparent)},
        ${pages.map((page) => page.afterEndpointId)}::uuid[],
        ${pages.map((page) => page.maxEndpoints)}::int[]
      ) with ordinality as event (
        organization_id, key, id, type, entity_id, occurred_at, received_at, body, traceparent, after_endpoint_id, max_endpoints,
        position
      )
    ), stored as (
      insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body, traceparent)
      select organization_id, key, id, type, entity_id, occurred_at, received_at, body, traceparent
      from incoming
      -- In one order, so that two statements with the same events wait for each other and do not deadlock.
      order by organization_id, key
      on conflict (organization_id, key) do nothing
      returning organization_id, key, type
    ), known as materialized (
      select incoming.organization_id, incoming.key, coalesce(stored.type, earlier.type) as type,
        stored.key is not null as is_new, incoming.occurred_at, incoming.received_at, incoming.after_endpoint_id, incoming.max_endpoints,
        incoming.position
      from incoming
      left join stored on stored.key = incoming.key and stored.organization_id = incoming.organization_id
      left join lateral (
        select type from business_event
        where stored.key is null
          and business_event.organization_id = incoming.organization_id
          and business_event.key = incoming.key
          and ${onDaysOf("business_event.key", keys)}
        limit 1
      ) as earlier on true
    ), page as materialized (
      select known.position, known.organization_id, known.key, known.type, known.max_endpoints, known.is_new, known.received_at,
        endpoint.id as endpoint_id, endpoint.revision, endpoint.created_at, endpoint.failures, endpoint.number,
        delivery_id(known.key, endpoint.id) as id
      from known
      cross join lateral (
        select id, revision, created_at, consecutive_failures as failures, row_number() over (order by id) as number
        from webhook_endpoint
        where organization_id = known.organization_id
          and id > known.after_endpoint_id
          and enabled
          and known.type = any (events)
          and created_at <= known.occurred_at
        order by id
        limit known.max_endpoints
      ) as endpoint
    ), fanned_out as (
      insert into delivery (id, endpoint_id, organization_id, event_key, event_type, created_at)
      select id, endpoint_id, organization_id, key, type, received_at
      from page
      -- In one order here too. A catch-up makes the deliveries of its endpoint by their keys.
      order by organization_id, key, endpoint_id
      on conflict (id) do nothing
      returning id, endpoint_id, event_key, created_at
    ), queued as (
      insert into due (shard, endpoint_id, due_at, delivery_id)
      select shard_of(endpoint_id), endpoint_id, created_at, id from fanned_out
      on conflict do nothing
    ), endpoint as (
      select endpoint_id, organization_id, max(revision) as revision, max(created_at) as created_at, max(failures) as failures,
        array_agg(distinct type) as types
      from page
      group by endpoint_id, organization_id
    ), unfinished as (
      select position, endpoint_id as after_endpoint_id from page where number = max_endpoints
      union all
      select position, after_endpoint_id from known where type is null
    )
    select
      (select count(*) from fanned_out)::int as "madeCount",
      (select count(distinct id) from page where is_new or id in (select id from fanned_out))::int as "deliveryCount",
      (
        select coalesce(json_agg(json_build_object('id', id, 'endpointId', endpoint_id, 'key', event_key)), '[]')
        from fanned_out
        where (select count(*) from fanned_out) <= ${MAX_HANDED_OVER}
      ) as "deliveries",
      (
        select coalesce(json_agg(json_build_object(
          'endpointId', endpoint_id, 'organizationId', organization_id, 'revision', revision::text, 'owner', owner,
          'createdAt', extract(epoch from created_at) * 1000, 'types', types,
          'isReady', failures = 0 and coalesce(
            on_arrival_from not between now() and now() + ${ARRIVAL.newOwnerMs}::int * interval '1 ms', false
          )
        )), '[]')
        from endpoint join shard on shard.id = shard_of(endpoint_id)
      ) as "endpoints",
      (select coalesce(json_agg(key), '[]') from known where not is_new) as "repeated",
      (select coalesce(json_agg(json_build_object('position', position - 1, 'afterEndpointId', after_endpoint_id)), '[]') from unfinished) as "unfinished"`;
  const row = oneRow(rows);
  const unfinished = row.unfinished.map(({ position, afterEndpointId }) => [pages[position], afterEndpointId] as const);
  return {
    made: { stored: true, ...forOwners(row, events, now) },
    deliveryCount: row.deliveryCount,
    subscriptions: subscriptionsOf(row, pages, now),
    unfinished: new Map(unfinished as [EventPage, string][]),
  };
}

/** Hands over deliveries with their events. If there are too many, or an event was stored before with another body, only says which endpoints have work. */
function forOwners(
  { madeCount, deliveries, endpoints, repeated }: Row,
  events: readonly IncomingEvent[],
  readAt: Date,
): Omit<ForOwners, "stored"> {
  if (madeCount > MAX_HANDED_OVER) {
    const work = endpoints.map(({ endpointId, organizationId, owner }) => ({ endpointId, organizationId, owner }));
    return { deliveries: [], work };
  }
  const byId = new Map(endpoints.map((endpoint) => [endpoint.endpointId, endpoint]));
  const byKey = new Map(events.map((event) => [event.key, event]));
  const unsure = new Set(repeated);
  for (const event of events) if (byKey.get(event.key) !== event) unsure.add(event.key);
  const made = { deliveries: [] as NewDelivery[], work: [] as EndpointWithWork[] };
  for (const { id, endpointId, key } of deliveries) {
    const { organizationId, revision, owner } = byId.get(endpointId) as Row["endpoints"][number];
    if (unsure.has(key)) made.work.push({ endpointId, organizationId, owner });
    else made.deliveries.push({ id, endpointId, revision, readAt, event: byKey.get(key) as IncomingEvent, owner });
  }
  return made;
}

/** The subscriptions of these events. Events with other pages, and stored ones that came again, tell nothing. */
function subscriptionsOf(
  { endpoints, repeated, unfinished }: Row,
  pages: readonly EventPage[],
  readAt: Date,
): Subscription[] {
  if (unfinished.length > 0 || pages.some(({ afterEndpointId }) => afterEndpointId !== FIRST_ENDPOINT)) return [];
  const known = new Set(repeated);
  const found = new Map<string, Subscription>();
  for (const { event } of pages) {
    const { organizationId, type, key } = event;
    if (!known.has(key)) found.set(subscriptionKey(event), { organizationId, type, endpoints: [] });
  }
  for (const { endpointId: id, organizationId, revision, createdAt, owner, isReady, types } of endpoints) {
    const endpoint = { id, revision, readAt, createdAt: new Date(createdAt), owner, isReady };
    for (const type of types) found.get(subscriptionKey({ organizationId, type }))?.endpoints.push(endpoint);
  }
  return [...found.values()];
}

export function subscriptionKey({ organizationId, type }: { organizationId: string; type: string }): string {
  return `${type}\0${organizationId}`;
}
