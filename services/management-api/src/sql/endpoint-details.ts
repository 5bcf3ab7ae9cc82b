import { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt } from "@herald/common/database/ids";
import type { Reads } from "@herald/common/database/queries";
import { DURATION_BOUNDS_MS } from "@herald/common/history/durations";
import type { AttemptCounts } from "@herald/contracts";

/** Names an endpoint for its organization; other organizations don't find it. */
export interface EndpointKey {
  id: string;
  organizationId: string;
}

/**
 * Counts the events that an endpoint would get if it were enabled now, besides the deliveries that wait: the events that it
 * subscribes to and has no delivery for. Looks at the newest `maxEvents` of the organization's events.
 *
 * Locks nothing. Walks business_event_pkey backwards, and delivery_pkey in one partition for each event of a subscribed type.
 */
export async function missedEvents(
  queries: Reads,
  { id, organizationId }: EndpointKey,
  { events, since, maxEvents }: { events: readonly string[]; since: Date; maxEvents: number },
): Promise<{ missed: number; isMinimum: boolean }> {
  const [row] = await queries.$queryRaw<{ missed: number; seen: number }[]>`
    select count(*)::int as seen,
           count(*) filter (
             where delivery_id is not null and (select id from delivery where id = event.delivery_id) is null
           )::int as missed
    from (
      select case when type = any (${events}::text[]) then delivery_id(key, ${id}::uuid) end as delivery_id
      from business_event
      where organization_id = ${organizationId} and key >= ${firstIdAt(since)}::uuid
      order by key desc
      limit ${maxEvents}::int
    ) as event`;
  return { missed: row?.missed ?? 0, isMinimum: (row?.seen ?? 0) === maxEvents };
}

export interface RateRow extends AttemptCounts {
  /** Which of the pieces, from 0; null of an endpoint without attempts. */
  piece: number | null;
  durations: number[];
}

const sumsOfDurations = Prisma.raw(DURATION_BOUNDS_MS.map((_, index) => `sum(durations[${index + 1}])`).join(", "));

/**
 * How an endpoint's attempts ended, by pieces of time that begin at `starts`, in their order; the last one has no end. Pieces without
 * attempts have no row. No row at all if the organization has no such endpoint. Locks nothing. Walks webhook_endpoint_pkey, and endpoint_hour_pkey: at most the endpoint's 744 hours.
 */
export async function endpointRates(
  queries: Reads,
  { id, organizationId }: EndpointKey,
  starts: readonly Date[],
): Promise<RateRow[]> {
  return await queries.$queryRaw<RateRow[]>`
    select width_bucket(hour, ${starts}::timestamptz[]) - 1 as piece, sum(succeeded)::int as succeeded, sum(failed)::int as failed,
           array[${sumsOfDurations}]::int[] as durations
    from webhook_endpoint as endpoint
    left join endpoint_hour on endpoint_id = endpoint.id and hour >= ${starts[0]}::timestamptz
    where endpoint.id = ${id}::uuid and organization_id = ${organizationId}
    group by 1`;
}
