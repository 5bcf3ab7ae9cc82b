import type { Queries } from "@herald/common/database/queries";
import type { EndpointWithWork, ForOwners, NewDelivery } from "../hand-over.ts";
import type { IncomingEvent } from "../ingest/read-event.ts";

/** An event, and the endpoints that this page is for: at most `maxEndpoints`, with ids after `afterEndpointId`. */
export interface EventPage {
  event: IncomingEvent;
  /** {@link FIRST_ENDPOINT}, or where the page before this one ended. */
  afterEndpointId: string;
  maxEndpoints: number;
}

export const FIRST_ENDPOINT = "00000000-0000-0000-0000-000000000000";

export interface StoredEvents {
  /** What the owners of the endpoints get. */
  made: ForOwners;
  deliveryCount: number;
  /** Pages whose events may have more endpoints, and the endpoint after which the next page begins. */
  unfinished: Map<EventPage, string>;
}

interface Row {
  deliveryCount: number;
  /** New deliveries, unless there are more than {@link MAX_HANDED_OVER}. Positions are those of the pages, from 0. */
  deliveries: (Omit<NewDelivery, "event"> & { position: number; isNewEvent: boolean })[];
  /** Their endpoints where there are more. */
  work: EndpointWithWork[];
  unfinished: { position: number; afterEndpointId: string }[];
}

/** Of a statement that makes more deliveries than this only the endpoints are handed over: their owners read the rest in large pages. */
const MAX_HANDED_OVER = 1_000;

/**
 * Stores events, and makes a page of the deliveries of each, due now.
 *
 * An event goes to the endpoints that are enabled, want it, and were created before it occurred. It may have thousands, so the
 * rows of a statement are bounded by the pages, and not by how many events there are. Ids are functions of the event, so
 * what was made already is left alone. So an event that comes again gets its pages like a new one: the process that stored
 * it may have died between two of them. The row that was stored first says what type the event has.
 *
 * Another transaction may store an event at the same moment. This statement waits for it, but can't see its row. Such an
 * event counts as unfinished, and the next statement sees the row.
 *
 * The statement reads who owns the endpoints of the deliveries that it makes. A delivery is for its owner with the event's body only
 * where that is surely the stored one: the event was stored just now, and is not twice among the pages. Of others the
 * owner reads it.
 *
 * Endpoints are not locked. The deliveries of one that is deleted at the same moment are erased with the others of it.
 *
 * Locks: what it inserts. Walks: business_event_pkey, delivery_pkey and due_pkey to insert, business_event_pkey for events that are
 * stored already, webhook_endpoint_organization_id_id_idx from each page's start; reads `shard`, which has 256 rows.
 */
export async function storeEvents(queries: Queries, pages: readonly EventPage[], now: Date): Promise<StoredEvents> {
  const events = pages.map(({ event }) => event);
  const keys = events.map(({ key }) => key).sort();
  const [row] = await queries.$queryRaw<Row[]>`
    with incoming as materialized (
      select * from unnest(
        ${events.map((event) => event.organizationId)}::text[],
        ${events.map((event) => event.key)}::uuid[],
        ${events.map((event) => event.id)}::uuid[],
        ${events.map((event) => event.type)}::text[],
        ${events.map((event) => event.entityId)}::uuid[],
        ${events.map((event) => event.occurredAt)}::timestamptz[],
        ${events.map((event) => event.body)}::text[],
        ${events.map((event) => event.traceparent)}::text[],
        ${pages.map((page) => page.afterEndpointId)}::uuid[],
        ${pages.map((page) => page.maxEndpoints)}::int[]
      ) with ordinality as event (
        organization_id, key, id, type, entity_id, occurred_at, body, traceparent, after_endpoint_id, max_endpoints, position
      )
    ), stored as (
      insert into business_event (
        organization_id, key, id, type, entity_id, occurred_at, received_at, body, traceparent
      )
      select organization_id, key, id, type, entity_id, occurred_at, ${now}::timestamptz, body, traceparent
      from incoming
      -- In one order, so that of two statements with the same events one waits for the other, and they do not deadlock.
      order by organization_id, key
      on conflict (organization_id, key) do nothing
      returning organization_id, key, type
    ), known as materialized (
      select incoming.organization_id, incoming.key, coalesce(stored.type, earlier.type) as type,
        stored.key is not null as is_new, incoming.occurred_at, incoming.after_endpoint_id, incoming.max_endpoints,
        incoming.position
      from incoming
      left join stored on stored.key = incoming.key and stored.organization_id = incoming.organization_id
      left join lateral (
        select type from business_event
        where stored.key is null
          and business_event.organization_id = incoming.organization_id
          and business_event.key = incoming.key
          -- A cached plan leaves out all other days at its start.
          and business_event.key between ${keys[0]}::uuid and ${keys.at(-1)}::uuid
        limit 1
      ) as earlier on true
    ), page as materialized (
      select known.position, known.organization_id, known.key, known.type, known.is_new, known.max_endpoints,
        endpoint.id as endpoint_id, endpoint.revision, endpoint.number, delivery_id(known.key, endpoint.id) as id
      from known
      cross join lateral (
        select id, revision, row_number() over (order by id) as number
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
      select id, endpoint_id, organization_id, key, type, ${now}::timestamptz
      from page
      -- In one order here too. A catch-up makes the deliveries of its endpoint by their keys.
      order by organization_id, key, endpoint_id
      on conflict (id) do nothing
      returning id, endpoint_id, organization_id
    ), queued as (
      insert into due (endpoint_id, due_at, delivery_id)
      select endpoint_id, ${now}::timestamptz, id from fanned_out
      on conflict do nothing
    ), made as materialized (
      select fanned_out.id, fanned_out.endpoint_id, fanned_out.organization_id, shard.owner
      from fanned_out join shard on shard.id = shard_of(fanned_out.endpoint_id)
    ), unfinished as (
      select position, endpoint_id as after_endpoint_id from page where number = max_endpoints
      union all
      select position, after_endpoint_id from known where type is null
    )
    select
      (select count(*) from made)::int as "deliveryCount",
      (
        select coalesce(json_agg(json_build_object(
          'id', id, 'endpointId', made.endpoint_id, 'revision', revision::text, 'owner', owner,
          'position', position - 1, 'isNewEvent', is_new
        )), '[]')
        from made join page using (id)
        where (select count(*) from made) <= ${MAX_HANDED_OVER}
      ) as "deliveries",
      (
        select coalesce(json_agg(json_build_object(
          'endpointId', endpoint_id, 'organizationId', organization_id, 'owner', owner
        )), '[]')
        from (
          select distinct endpoint_id, organization_id, owner from made
          where (select count(*) from made) > ${MAX_HANDED_OVER}
        ) as endpoint
      ) as "work",
      (
        select coalesce(json_agg(json_build_object('position', position - 1, 'afterEndpointId', after_endpoint_id)), '[]')
        from unfinished
      ) as "unfinished"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  const unfinished = row.unfinished.map(({ position, afterEndpointId }) => [pages[position], afterEndpointId] as const);
  return {
    made: { storedAt: now, ...withBodies(row, events) },
    deliveryCount: row.deliveryCount,
    unfinished: new Map(unfinished as [EventPage, string][]),
  };
}

/** The deliveries with their events, and as work those whose event may have been stored with another body. */
function withBodies({ deliveries, work }: Row, events: readonly IncomingEvent[]): Omit<ForOwners, "storedAt"> {
  const places = new Map(events.map(({ key }, position) => [key, position]));
  const twice = new Set(events.filter(({ key }, position) => places.get(key) !== position).map(({ key }) => key));
  const made = { deliveries: [] as NewDelivery[], work: [...work] };
  for (const { position, isNewEvent, ...delivery } of deliveries) {
    const event = events[position] as IncomingEvent;
    if (isNewEvent && !twice.has(event.key)) {
      made.deliveries.push({ ...delivery, event });
    } else {
      const { endpointId, owner } = delivery;
      made.work.push({ endpointId, organizationId: event.organizationId, owner });
    }
  }
  return made;
}
