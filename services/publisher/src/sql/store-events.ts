import type { Queries } from "@herald/common/database/queries";
import type { Hint } from "@herald/contracts";
import type { IncomingEvent } from "../ingest/read-event.ts";

/** Times that decide about a batch of events. */
export interface FanOutTimes {
  now: Date;
  /** Events that occurred before this are stored but not delivered (SPEC 6.1: the previous seven days). */
  windowStart: Date;
  /** When the due scan may take a new delivery, should its hint be lost. */
  hintGraceUntil: Date;
}

/**
 * Stores events and fans them out, all or nothing: an event that is stored has its deliveries.
 *
 * Returns a hint for every delivery of these events that was not attempted yet, whether this call made it or an earlier
 * one whose message came again.
 *
 * Locks: what it inserts, and each endpoint that gets a delivery against deletion (the foreign key). Two calls with the
 * same event wait for each other on business_event's primary key; the second one inserts nothing.
 * Walks: webhook_endpoint_organization_id_id_idx once per organization; for messages that came again also
 * delivery_endpoint_id_business_event_id_key.
 */
export async function storeEvents(
  queries: Queries,
  events: readonly IncomingEvent[],
  { now, windowStart, hintGraceUntil }: FanOutTimes,
): Promise<Hint[]> {
  return await queries.$queryRaw<Hint[]>`
    with incoming as (
      select * from unnest(
        ${events.map((event) => event.organizationId)}::text[],
        ${events.map((event) => event.id)}::uuid[],
        ${events.map((event) => event.type)}::text[],
        ${events.map((event) => event.occurredAt)}::timestamptz[],
        ${events.map((event) => event.body)}::text[],
        ${events.map((event) => event.traceparent)}::text[]
      ) as event (organization_id, id, type, occurred_at, body, traceparent)
    ), stored as (
      insert into business_event (organization_id, id, type, occurred_at, received_at, body, traceparent)
      select organization_id, id, type, occurred_at, ${now}::timestamptz, body, traceparent from incoming
      -- In one order, so that of two batches with the same events one waits for the other, and they do not deadlock.
      order by organization_id, id
      -- The same event again changes nothing, however often it comes: the first one stays.
      on conflict (organization_id, id) do nothing
      returning organization_id, id, type, occurred_at
    ), fanned_out as (
      insert into delivery (endpoint_id, organization_id, business_event_id, event_type, next_attempt_at, created_at)
      select endpoint.id, stored.organization_id, stored.id, stored.type, ${hintGraceUntil}::timestamptz, ${now}::timestamptz
      from stored
      join webhook_endpoint as endpoint
        on endpoint.organization_id = stored.organization_id
        and endpoint.enabled
        and stored.type = any (endpoint.events)
        and endpoint.created_at <= stored.occurred_at
      where stored.occurred_at >= ${windowStart}::timestamptz
      -- The foreign key would take this lock too, but fail while an endpoint is being deleted. Here it is then skipped.
      for key share of endpoint
      -- A catch-up may have made this delivery between the two.
      on conflict (endpoint_id, business_event_id) do nothing
      returning id, endpoint_id
    )
    select id as "deliveryId", endpoint_id as "endpointId" from fanned_out
    union all
    -- A message that came again: perhaps the process died between its deliveries and their hints.
    select delivery.id, delivery.endpoint_id
    from incoming
    join webhook_endpoint as endpoint on endpoint.organization_id = incoming.organization_id
    cross join lateral (
      select id, endpoint_id from delivery
      where delivery.endpoint_id = endpoint.id
        and delivery.business_event_id = incoming.id
        -- As text, and with a limit: else PostgreSQL, whose statistics mostly show nothing pending, would read everything
        -- that is pending.
        and delivery.state::text = 'pending'
        and delivery.attempt_count = 0
      limit 1
    ) as delivery
    where not exists (
        select from stored where stored.organization_id = incoming.organization_id and stored.id = incoming.id
      )`;
}
