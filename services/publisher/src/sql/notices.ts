import { Prisma } from "@herald/common/database/generated/client";
import { noticeId } from "@herald/common/database/ids";
import { isOver, type Queries } from "@herald/common/database/queries";
import { type FailedAttemptRow, failedAttempts } from "@herald/common/history/sql/failed-attempts";
import type { NoticeAttempt, NoticeType } from "@herald/contracts";

/** States of given-up deliveries, which have a notice. */
export type GivenUp = "exhausted" | "expired";

/**
 * Makes one notice for each endpoint with deliveries that ended in `state`, unless the endpoint had such a notice after `notAfter`. The others wait
 * for the next period. Returns the number of notices.
 *
 * The time in `digest` is written by compare-and-set: of two publishers at once, the second waits for the first, sees its time, and leaves the
 * endpoint alone. One statement, so that a crash leaves all of it or nothing.
 *
 * Locks these rows of `exhaustion` and `digest`. In `exhaustion` it reads one row for each endpoint, along its primary key: an endpoint that had its
 * notice may have many rows, which wait for the next period. `digest` has a row for each endpoint that had a notice in the last period.
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

export interface TakenNotice {
  id: string;
  type: NoticeType;
  /** Null for a rejected event whose organization can't be read. */
  organizationId: string | null;
  /** Null for a notice of an event. */
  endpointId: string | null;
  endpointName: string | null;
  endpointUrl: string | null;
  /** The fields of this type of notice alone, as they are in the message. */
  details: Readonly<Record<string, unknown>>;
  /** Failed attempts, also those whose history has been deleted. */
  failureCount: number;
  occurredAt: Date;
  /** The failed attempts whose history exists, oldest first. */
  attempts: NoticeAttempt[];
}

/**
 * Takes due notices, the oldest first, and moves their time to the end of a lease, so that no other process publishes them until then. If this process
 * dies, they are due again when the lease ends. The failed attempts are read here, so that the statements that make notices do not read the history.
 *
 * Locks the notices that it takes, skips those that others lock. Walks notice_publish_at_id_idx, and what {@link failedAttempts} walks.
 */
export async function takeNotices(
  queries: Queries,
  { now, leasedUntil, limit }: { now: Date; leasedUntil: Date; limit: number },
): Promise<TakenNotice[]> {
  const taken = await queries.$queryRaw<(Omit<TakenNotice, "failureCount" | "attempts"> & { failureRun: string[] })[]>`
    with taken as (
      update notice
      set publish_at = ${leasedUntil}::timestamptz
      where id in (
        select id from notice
        where ${isOver(Prisma.sql`publish_at`, now)}
        order by publish_at, id
        limit ${limit}
        for update skip locked
      )
      returning id, type, organization_id, endpoint_id, endpoint_name, endpoint_url, failure_run, details, occurred_at
    )
    select id, type::text as "type", organization_id as "organizationId", endpoint_id as "endpointId", endpoint_name as "endpointName",
      endpoint_url as "endpointUrl", details, failure_run as "failureRun", occurred_at as "occurredAt"
    from taken
    order by occurred_at, id`;
  const attempts = await failedAttempts(
    queries,
    taken.flatMap(({ failureRun }) => failureRun),
  );
  return taken.map(({ failureRun, ...notice }) => ({
    ...notice,
    failureCount: failureRun.length,
    attempts: failureRun.flatMap((name) => attempts.get(name) ?? []).map(toNoticeAttempt),
  }));
}

function toNoticeAttempt({ attemptNumber: number, attemptedAt, ...row }: FailedAttemptRow): NoticeAttempt {
  const { deliveryId, eventType, statusCode, errorSummary } = row;
  return { deliveryId, eventType, number, attemptedAtUtc: attemptedAt.toISOString(), statusCode, errorSummary };
}

/** Ends notices that the broker has confirmed. Locks them. Walks notice_pkey. */
export async function deleteNotices(queries: Queries, ids: readonly string[]): Promise<void> {
  await queries.$executeRaw`delete from notice where id = any (${ids}::uuid[])`;
}

/** Returns notices that could not be published, due at `publishAt`. Locks them. Walks notice_pkey. */
export async function returnNotices(queries: Queries, ids: readonly string[], publishAt: Date): Promise<void> {
  await queries.$executeRaw`
    update notice set publish_at = ${publishAt}::timestamptz where id = any (${ids}::uuid[])`;
}
