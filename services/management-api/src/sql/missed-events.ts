import type { PrismaClient } from "@herald/common/database/generated/client";

/**
 * Counts the events that an endpoint would get if it were enabled now, besides its parked deliveries: those of the window
 * that it subscribes to and has no delivery for. At most `maxEvents` of the organization's are looked at, newest first.
 *
 * Locks nothing. Walks business_event_organization_id_occurred_at_id_idx backwards, and
 * delivery_endpoint_id_business_event_id_key for each event of a subscribed type.
 */
export async function missedEvents(
  prisma: PrismaClient,
  { endpointId, windowStart, maxEvents }: { endpointId: string; windowStart: Date; maxEvents: number },
): Promise<{ missed: number; isMinimum: boolean }> {
  const [row] = await prisma.$queryRaw<{ missed: number; seen: number }[]>`
    with endpoint as (
      select id, organization_id, events, created_at from webhook_endpoint where id = ${endpointId}::uuid
    ), event as (
      select event.id, event.type
      from endpoint
      join business_event as event on event.organization_id = endpoint.organization_id
      where event.occurred_at >= greatest(endpoint.created_at, ${windowStart}::timestamptz)
        and event.received_at >= ${windowStart}::timestamptz
      order by event.occurred_at desc
      limit ${maxEvents}
    )
    select count(*)::int as seen,
           count(*) filter (
             where event.type = any (endpoint.events) and not exists (
               select from delivery where endpoint_id = endpoint.id and business_event_id = event.id
             )
           )::int as missed
    from event cross join endpoint`;
  return { missed: row?.missed ?? 0, isMinimum: (row?.seen ?? 0) === maxEvents };
}
