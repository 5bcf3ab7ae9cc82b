import type { Queries } from "@herald/common/database/queries";
import type { Hint } from "@herald/contracts";
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
  /** The hints to send to the dispatchers. */
  hints: Hint[];
  deliveryCount: number;
  /** Pages whose events may have more endpoints, and the endpoint after which the next page begins. */
  unfinished: Map<EventPage, string>;
}

interface Row {
  /** The organizations of the endpoints that got deliveries, by the endpoints' ids. */
  organizations: Record<string, string>;
  deliveryCount: number;
  /** The deliveries, where each is leased to its hint. Positions are those of the pages, from 0. */
  leased: { deliveryId: string; endpointId: string; position: number; revision: string }[];
  unfinished: { position: number; afterEndpointId: string }[];
}

/**
 * How long a new delivery is leased to its hint. A hint that gets lost delays its delivery by this time and a due scan's interval: no
 * more than three seconds together.
 */
export const HINT_LEASE_MS = 1_500;

/** A statement that makes more deliveries than this leases none: claims of many at once cost less than hints that carry bodies. */
const MAX_LEASED = 10;
const MAX_LEASED_BODY_LENGTH = 8 * 1024;

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
 * Where there is little to do, the deliveries are leased to their hints (`claim_id` is the delivery's own id): the dispatcher that gets the
 * hint attempts the delivery without a claim. Such a hint carries the body, so the events must be small, stored just now, and
 * not twice among the pages, where they could differ. While a restore holds attempts there is no such lease, since a
 * dispatcher may not have read of the restore yet.
 *
 * Endpoints are not locked. The deliveries of one that is deleted at the same moment are erased with the others of it.
 *
 * Locks: what it inserts. Walks: business_event_pkey and delivery_pkey to insert, business_event_pkey for events that are
 * stored already, webhook_endpoint_organization_id_id_idx from each page's start.
 */
export async function storeEvents(queries: Queries, pages: readonly EventPage[], now: Date): Promise<StoredEvents> {
  const events = pages.map(({ event }) => event);
  const keys = events.map(({ key }) => key).sort();
  const leasedUntil = new Date(now.getTime() + HINT_LEASE_MS);
  const leasable =
    new Set(keys).size === keys.length && events.every(({ body }) => body.length <= MAX_LEASED_BODY_LENGTH);
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
      select incoming.organization_id, incoming.key, coalesce(stored.type, earlier.type) as type, incoming.occurred_at,
        incoming.after_endpoint_id, incoming.max_endpoints, incoming.position
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
      select known.position, known.organization_id, known.key, known.type, known.max_endpoints,
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
    ), little as materialized (
      select ${leasable}::boolean
        and (select count(*) from stored) = ${events.length}
        and (select count(*) from page) <= ${MAX_LEASED}
        and not exists (select from restore) as yes
    ), queued as (
      insert into due (delivery_id, endpoint_id, due_at, claim_id)
      select id, endpoint_id, case when yes then ${leasedUntil}::timestamptz else ${now}::timestamptz end, case when yes then id end
      from fanned_out, little
      on conflict (delivery_id) do nothing
      returning delivery_id
    ), unfinished as (
      select position, endpoint_id as after_endpoint_id from page where number = max_endpoints
      union all
      select position, after_endpoint_id from known where type is null
    )
    select
      (
        select coalesce(json_object_agg(endpoint_id, organization_id), '{}')
        from (select distinct endpoint_id, organization_id from fanned_out) as endpoint
      ) as "organizations",
      (select count(*) from queued)::int as "deliveryCount",
      (
        select coalesce(json_agg(json_build_object(
          'deliveryId', id, 'endpointId', endpoint_id, 'position', position - 1, 'revision', revision::text
        )), '[]')
        from page
        where (select yes from little) and id in (select delivery_id from queued)
      ) as "leased",
      (
        select coalesce(json_agg(json_build_object('position', position - 1, 'afterEndpointId', after_endpoint_id)), '[]')
        from unfinished
      ) as "unfinished"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  const hinted = row.leased.map(({ deliveryId, endpointId, position, revision }): Hint => {
    const { organizationId, type: eventType, body, traceparent } = events[position] as IncomingEvent;
    const times = { createdAtUtc: now.toISOString(), leasedUntilUtc: leasedUntil.toISOString() };
    const delivery = { deliveryId, eventType, body, traceparent, revision, ...times };
    return { endpointId, organizationId, delivery };
  });
  const unfinished = row.unfinished.map(({ position, afterEndpointId }) => [pages[position], afterEndpointId] as const);
  return {
    hints:
      hinted.length > 0
        ? hinted
        : Object.entries(row.organizations).map(([endpointId, organizationId]) => ({ endpointId, organizationId })),
    deliveryCount: row.deliveryCount,
    unfinished: new Map(unfinished as [EventPage, string][]),
  };
}
