import type { Queries } from "./queries.ts";

/** How far behind Herald is, as PostgreSQL knows it. */
export interface Lag {
  /** Deliveries whose time has come; counted to {@link COUNTED_AT_MOST}. */
  due: number;
  /** Deliveries that wait for their retry, for their hint, or for the end of an attempt under way; likewise. */
  scheduled: number;
  /** Unfinished deliveries of disabled endpoints; likewise. */
  parked: number;
  /** The due time of the delivery that has been due longest; null where none is due. */
  oldestDueAt: Date | null;
  /** Notices that were not published yet; likewise. */
  notices: number;
  /** Endpoints whose catch-up is due. */
  catchUps: number;
  endpointsEnabled: number;
  /** Disabled by an admin. */
  endpointsPaused: number;
  /** Disabled by Herald, after consecutive failures. */
  endpointsFailed: number;
}

/** Counting a backlog of millions to its end would burden a database that is busy with it. */
export const COUNTED_AT_MOST = 100_000;

/**
 * Locks nothing. Walks delivery_due, delivery_parked and notice_publish_at_id_idx, and reads the endpoints, of which there
 * are few. Its cost follows the number of unfinished deliveries, not the history.
 */
export async function readLag(queries: Queries, now: Date): Promise<Lag> {
  const [row] = await queries.$queryRaw<Lag[]>`
    select
      (
        select count(*) from (
          select from delivery
          where state = 'pending' and next_attempt_at <= ${now}::timestamptz
          limit ${COUNTED_AT_MOST}
        ) as due
      )::int as "due",
      (
        select count(*) from (
          select from delivery
          where state = 'pending' and next_attempt_at > ${now}::timestamptz
          limit ${COUNTED_AT_MOST}
        ) as scheduled
      )::int as "scheduled",
      (
        select count(*) from (select from delivery where state = 'parked' limit ${COUNTED_AT_MOST}) as parked
      )::int as "parked",
      (
        select next_attempt_at from delivery
        where state = 'pending' and next_attempt_at <= ${now}::timestamptz
        order by next_attempt_at
        limit 1
      ) as "oldestDueAt",
      (select count(*) from (select from notice limit ${COUNTED_AT_MOST}) as notice)::int as "notices",
      endpoint.*
    from (
      select
        count(*) filter (where enabled and catch_up_at <= ${now}::timestamptz)::int as "catchUps",
        count(*) filter (where enabled)::int as "endpointsEnabled",
        count(*) filter (where not enabled and disabled_reason is distinct from 'failures')::int as "endpointsPaused",
        count(*) filter (where not enabled and disabled_reason = 'failures')::int as "endpointsFailed"
      from webhook_endpoint
    ) as endpoint`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return row;
}
