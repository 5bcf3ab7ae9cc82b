import { noticeId } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";

/** How a delivery ends that its receiver did not take: a notice says so. */
export type GivenUp = "exhausted" | "expired";

/**
 * Makes one notice for each endpoint of its deliveries that ended in `state`, unless the endpoint had one of them after `notAfter`. What is
 * left waits for the next period. Returns how many notices were made.
 *
 * The time in `digest` is written by compare-and-set: of two publishers at once, the second waits for the first, sees its time,
 * and leaves the endpoint alone. One statement, so that a crash leaves all of it or nothing.
 *
 * Locks these rows of `exhaustion` and `digest`. Of `exhaustion` it reads one row for each endpoint, along its primary key: an endpoint that had its
 * notice may have many rows, which wait for the next period. `digest` has a row for each endpoint of which deliveries ended so in the last one.
 */
export async function makeDigests(
  queries: Queries,
  { state, now, notAfter, limit }: { state: GivenUp; now: Date; notAfter: Date; limit: number },
): Promise<number> {
  const ids = Array.from({ length: limit }, () => noticeId(now));
  return await queries.$executeRaw`
    with recursive given_up as (
      (select endpoint_id from exhaustion where state = ${state}::delivery_state order by endpoint_id limit 1)
      union all
      select next.endpoint_id from given_up
      cross join lateral (
        select endpoint_id from exhaustion
        where state = ${state}::delivery_state and exhaustion.endpoint_id > given_up.endpoint_id
        order by endpoint_id
        limit 1
      ) as next
    ), waiting as materialized (
      select given_up.endpoint_id
      from given_up left join digest on digest.state = ${state}::delivery_state and digest.endpoint_id = given_up.endpoint_id
      where digest.made_at is null or digest.made_at <= ${notAfter}::timestamptz
      -- So that two publishers never wait for each other.
      order by given_up.endpoint_id
      limit ${limit}
    ), forgotten as (
      delete from digest
      where state = ${state}::delivery_state and made_at <= ${notAfter}::timestamptz and endpoint_id not in (select endpoint_id from given_up)
    ), made as (
      insert into digest (state, endpoint_id, made_at)
      select ${state}::delivery_state, endpoint_id, ${now}::timestamptz from waiting
      on conflict (state, endpoint_id) do update set made_at = excluded.made_at
      where digest.made_at <= ${notAfter}::timestamptz
      returning endpoint_id
    ), taken as (
      delete from exhaustion using made where exhaustion.state = ${state}::delivery_state and exhaustion.endpoint_id = made.endpoint_id
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
      (${ids}::uuid[])[position], ${`endpoint.${state}`}::notice_type, organization_id, endpoint_id, endpoint_name, endpoint_url, '{}',
      jsonb_build_object(
        'deliveries', deliveries,
        'firstAtUtc', to_char(first_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'lastAtUtc', to_char(last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      ),
      ${now}::timestamptz, ${now}::timestamptz
    from summed join latest using (endpoint_id)`;
}
