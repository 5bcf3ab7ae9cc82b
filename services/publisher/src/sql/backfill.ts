import type { Queries } from "@herald/common/database/queries";

/** A position in an organization's events: those after it in (occurred_at, id) are still to be read. */
export interface EventCursor {
  occurredAt: Date;
  id: string;
}

export interface BackfilledPage {
  /** Events that the page held, of whatever type. */
  eventCount: number;
  /** Deliveries that were missing and are there now, due at once. */
  deliveryCount: number;
  /** The page's last event; null for an empty page. */
  cursor: EventCursor | null;
}

interface Row {
  eventCount: number;
  deliveryCount: number;
  occurredAt: Date | null;
  id: string | null;
}

/**
 * Reads one page of the events that an endpoint may have missed, earliest first, and makes the deliveries that it lacks
 * (SPEC 6.1: of the window, never from before the endpoint's creation). Nothing for an endpoint that is disabled or gone.
 *
 * The page is counted before the filter, so that a call costs the same whatever an organization emits.
 * Locks: what it inserts, and the endpoint against deletion. Walks business_event_organization_id_occurred_at_id_idx from the cursor on.
 */
export async function backfill(
  queries: Queries,
  page: { endpointId: string; after: EventCursor | null; windowStart: Date; now: Date; pageSize: number },
): Promise<BackfilledPage> {
  const { endpointId, after, windowStart, now, pageSize } = page;
  const [row] = await queries.$queryRaw<Row[]>`
    with endpoint as (
      select id, organization_id, events, created_at from webhook_endpoint where id = ${endpointId}::uuid and enabled
      -- The foreign key would take this lock too, but fail while the endpoint is being deleted. Here it is then not found.
      for key share
    ), page as (
      select event.organization_id, event.id, event.type, event.occurred_at
      from endpoint
      -- Lateral, so that the index gives the order and the limit ends the reading: a join would sort the whole window.
      cross join lateral (
        select organization_id, id, type, occurred_at from business_event
        where organization_id = endpoint.organization_id
          and occurred_at >= greatest(endpoint.created_at, ${windowStart}::timestamptz)
          -- An event may claim a time in the future. Its window ends all the same, as its delivery may be erased by now.
          and received_at >= ${windowStart}::timestamptz
          and (occurred_at, id) > (${after?.occurredAt ?? windowStart}::timestamptz, ${after?.id ?? ZERO_UUID}::uuid)
        order by occurred_at, id
        limit ${pageSize}
      ) as event
    ), backfilled as (
      insert into delivery (endpoint_id, organization_id, business_event_id, event_type, next_attempt_at, created_at)
      select endpoint.id, page.organization_id, page.id, page.type, ${now}::timestamptz, ${now}::timestamptz
      from page join endpoint on page.type = any (endpoint.events)
      where not exists (
        select from delivery where delivery.endpoint_id = endpoint.id and delivery.business_event_id = page.id
      )
      order by page.occurred_at, page.id
      on conflict (endpoint_id, business_event_id) do nothing
      returning id
    ), last_event as (
      select occurred_at, id from page order by occurred_at desc, id desc limit 1
    )
    select
      (select count(*) from page)::int as "eventCount",
      (select count(*) from backfilled)::int as "deliveryCount",
      (select occurred_at from last_event) as "occurredAt",
      (select id from last_event) as "id"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  const cursor = row.occurredAt && row.id ? { occurredAt: row.occurredAt, id: row.id } : null;
  return { eventCount: row.eventCount, deliveryCount: row.deliveryCount, cursor };
}

const ZERO_UUID = "00000000-0000-0000-0000-000000000000";
