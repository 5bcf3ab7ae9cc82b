import type { Reads } from "@herald/common/database/queries";

export interface RateRow {
  /** Which of the pieces, from 0. */
  piece: number;
  succeeded: number;
  failed: number;
  durations: number[];
}

/**
 * How an endpoint's attempts ended, by pieces of time that begin at `starts`, in their order; the last one has no end. Pieces without
 * attempts have no row. Locks nothing. Walks endpoint_hour_pkey: at most the endpoint's 744 hours.
 */
export async function endpointRates(queries: Reads, endpointId: string, starts: readonly Date[]): Promise<RateRow[]> {
  return await queries.$queryRaw<RateRow[]>`
    select width_bucket(hour, ${starts}::timestamptz[]) - 1 as piece, sum(succeeded)::int as succeeded, sum(failed)::int as failed,
           array[sum(durations[1]), sum(durations[2]), sum(durations[3]), sum(durations[4]),
                 sum(durations[5]), sum(durations[6]), sum(durations[7]), sum(durations[8])]::int[] as durations
    from endpoint_hour
    where endpoint_id = ${endpointId}::uuid and hour >= ${starts[0]}::timestamptz
    group by 1`;
}
