import { noticeId } from "@herald/common/database/notice-id";
import type { Queries } from "@herald/common/database/queries";

/**
 * Makes one notice for each endpoint of the deliveries that were given up, unless the endpoint had one after `notAfter`. What is
 * left waits for the next period. Returns how many notices were made.
 *
 * The time in `digest` is written by compare-and-set: of two publishers at once, the second waits for the first, sees its time,
 * and leaves the endpoint alone. One statement, so that a crash leaves all of it or nothing.
 *
 * Locks these rows of `exhaustion` and `digest`. Reads both tables, which are small: an hour of what was given up.
 */
export async function makeDigests(
  queries: Queries,
  { now, notAfter, limit }: { now: Date; notAfter: Date; limit: number },
): Promise<number> {
  const ids = Array.from({ length: limit }, () => noticeId(now));
  return await queries.$executeRaw`
    with waiting as materialized (
      select distinct exhaustion.endpoint_id
      from exhaustion left join digest on digest.endpoint_id = exhaustion.endpoint_id
      where digest.made_at is null or digest.made_at <= ${notAfter}::timestamptz
      -- So that two publishers never wait for each other.
      order by exhaustion.endpoint_id
      limit ${limit}
    ), forgotten as (
      delete from digest
      where made_at <= ${notAfter}::timestamptz and endpoint_id not in (select endpoint_id from exhaustion)
    ), made as (
      insert into digest (endpoint_id, made_at)
      select endpoint_id, ${now}::timestamptz from waiting
      on conflict (endpoint_id) do update set made_at = excluded.made_at
      where digest.made_at <= ${notAfter}::timestamptz
      returning endpoint_id
    ), taken as (
      delete from exhaustion using made where exhaustion.endpoint_id = made.endpoint_id
      returning exhaustion.*
    ), latest as (
      select distinct on (endpoint_id) endpoint_id, organization_id, endpoint_name, endpoint_url
      from taken
      order by endpoint_id, last_at desc
    ), summed as (
      select
        endpoint_id, sum(deliveries)::int as deliveries, min(first_at) as first_at, max(last_at) as last_at,
        row_number() over (order by endpoint_id)::int as position
      from taken
      group by endpoint_id
    )
    insert into notice
      (id, type, organization_id, endpoint_id, endpoint_name, endpoint_url, failure_run, details, occurred_at, publish_at)
    select
      (${ids}::uuid[])[position], 'endpoint.exhausted', organization_id, endpoint_id, endpoint_name, endpoint_url, '{}',
      jsonb_build_object(
        'deliveries', deliveries,
        'firstAtUtc', to_char(first_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'lastAtUtc', to_char(last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      ),
      ${now}::timestamptz, ${now}::timestamptz
    from summed join latest using (endpoint_id)`;
}
