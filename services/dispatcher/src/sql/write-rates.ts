import type { Queries } from "@herald/common/database/queries";

/** How attempts of one endpoint ended that began within one hour. */
export interface HourOfAttempts {
  endpointId: string;
  hour: Date;
  succeeded: number;
  failed: number;
  /** How many took so long, by `DURATION_BOUNDS_MS`. */
  durations: readonly number[];
}

/**
 * Adds to endpoints' hours. Each endpoint and hour may be there once. Of deleted endpoints nothing is written.
 *
 * Locks these rows of endpoint_hour, in the order of their key, so that two dispatchers do not deadlock. Walks endpoint_hour_pkey,
 * webhook_endpoint_pkey.
 */
export async function writeRates(queries: Queries, hours: readonly HourOfAttempts[]): Promise<void> {
  await queries.$executeRaw`
    insert into endpoint_hour (endpoint_id, hour, succeeded, failed, durations)
    select endpoint_id, hour, succeeded, failed, durations::int[]
    from unnest(
      ${hours.map(({ endpointId }) => endpointId)}::uuid[],
      ${hours.map(({ hour }) => hour)}::timestamptz[],
      ${hours.map(({ succeeded }) => succeeded)}::int[],
      ${hours.map(({ failed }) => failed)}::int[],
      ${hours.map(({ durations }) => `{${durations.join()}}`)}::text[]
    ) as added (endpoint_id, hour, succeeded, failed, durations)
    where exists (select from webhook_endpoint where id = endpoint_id)
    order by endpoint_id, hour
    on conflict (endpoint_id, hour) do update
    set succeeded = endpoint_hour.succeeded + excluded.succeeded,
        failed = endpoint_hour.failed + excluded.failed,
        durations = array (
          select before + more
          from unnest(endpoint_hour.durations, excluded.durations) with ordinality as bucket (before, more, position)
          order by position
        )`;
}
