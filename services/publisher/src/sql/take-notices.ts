import type { Queries } from "@herald/common/database/queries";
import type { NoticeAttempt, NoticeType } from "@herald/contracts";

/** A notice that this process publishes now. */
export interface TakenNotice {
  id: string;
  type: NoticeType;
  /** Null where an event is rejected whose organization can't be read. */
  organizationId: string | null;
  /** Null for a notice of an event. */
  endpointId: string | null;
  endpointName: string | null;
  endpointUrl: string | null;
  /** The fields that only notices of this type have, as they are in the message. */
  details: Readonly<Record<string, unknown>>;
  /** How many attempts failed, those included whose history has been deleted. */
  failureCount: number;
  occurredAt: Date;
  /** The failed attempts whose history is still there, oldest first. */
  attempts: NoticeAttempt[];
}

/**
 * Takes due notices, oldest first, and moves their time past a lease, so that no other process publishes them; those of a
 * process that dies are due again when the lease ends. The attempts are read here and not where the notice was made, since a settlement can't see what
 * another one, which it waited for, has written.
 *
 * Locks the notices that it takes, skips those that others lock. Walks notice_publish_at_id_idx, delivery_attempt_pkey and
 * delivery_pkey for each attempt.
 */
export async function takeNotices(
  queries: Queries,
  { now, leasedUntil, limit }: { now: Date; leasedUntil: Date; limit: number },
): Promise<TakenNotice[]> {
  return await queries.$queryRaw<TakenNotice[]>`
    with taken as (
      update notice
      set publish_at = ${leasedUntil}::timestamptz
      where id in (
        select id from notice
        where publish_at <= ${now}::timestamptz
        order by publish_at, id
        limit ${limit}
        for update skip locked
      )
      returning id, type, organization_id, endpoint_id, endpoint_name, endpoint_url, failure_run, details, occurred_at
    )
    select
      id,
      type::text as "type",
      organization_id as "organizationId",
      endpoint_id as "endpointId",
      endpoint_name as "endpointName",
      endpoint_url as "endpointUrl",
      details,
      cardinality(failure_run) as "failureCount",
      occurred_at as "occurredAt",
      (
        select coalesce(json_agg(json_build_object(
          'deliveryId', attempt.delivery_id,
          'eventType', delivery.event_type,
          'number', attempt.number,
          'attemptedAtUtc', to_char(attempt.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'statusCode', attempt.status_code,
          'errorSummary', attempt.error_summary
        ) order by failure.position), '[]')
        from unnest(failure_run) with ordinality as failure (name, position)
        cross join lateral (
          select * from attempt
          where delivery_id = split_part(failure.name, '/', 1)::uuid and number = split_part(failure.name, '/', 2)::int
          -- So that PostgreSQL looks each one up: for a join it would read the whole history.
          limit 1
        ) as attempt
        cross join lateral (select event_type from delivery where id = attempt.delivery_id limit 1) as delivery
      ) as "attempts"
    from taken
    order by occurred_at, id`;
}

/** Ends notices that the broker has confirmed. Locks them. Walks notice_pkey. */
export async function deleteNotices(queries: Queries, ids: readonly string[]): Promise<void> {
  await queries.$executeRaw`delete from notice where id = any (${ids}::uuid[])`;
}

/** Gives notices back that could not be published, due at `publishAt`. Locks them. Walks notice_pkey. */
export async function returnNotices(queries: Queries, ids: readonly string[], publishAt: Date): Promise<void> {
  await queries.$executeRaw`
    update notice set publish_at = ${publishAt}::timestamptz where id = any (${ids}::uuid[])`;
}
