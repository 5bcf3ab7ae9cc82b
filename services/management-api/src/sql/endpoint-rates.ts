import type { Reads } from "@herald/common/database/queries";
import type { EndpointKey } from "../endpoints/find-endpoint.ts";

export interface RateRow {
  /** Which of the pieces, from 0; null of an endpoint without attempts. */
  piece: number | null;
  succeeded: number;
  failed: number;
  durations: number[];
}

/**
 * How an endpoint's attempts ended, by pieces of time that begin at `starts`, in their order; the last one has no end. Pieces without
 * attempts have no row. No row at all where the organization has no such endpoint. Locks nothing. Walks webhook_endpoint_pkey, and endpoint_hour_pkey: at most the endpoint's 744 hours.
 */
export async function endpointRates(
  queries: Reads,
  { id, organizationId }: EndpointKey,
  starts: readonly Date[],
): Promise<RateRow[]> {
  return await queries.$queryRaw<RateRow[]>`
    select width_bucket(hour, ${starts}::timestamptz[]) - 1 as piece, sum(succeeded)::int as succeeded, sum(failed)::int as failed,
           array[sum(durations[1]), sum(durations[2]), sum(durations[3]), sum(durations[4]),
                 sum(durations[5]), sum(durations[6]), sum(durations[7]), sum(durations[8])]::int[] as durations
    from webhook_endpoint as endpoint
    left join endpoint_hour on endpoint_id = endpoint.id and hour >= ${starts[0]}::timestamptz
    where endpoint.id = ${id}::uuid and organization_id = ${organizationId}
    group by 1`;
}
