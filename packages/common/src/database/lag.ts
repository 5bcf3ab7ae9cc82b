import type { Queries } from "./queries.ts";

/** How far behind Herald is, as PostgreSQL knows it. */
export interface Lag {
  /** Deliveries of enabled endpoints whose time has come; counted to {@link COUNTED_AT_MOST}. */
  due: number;
  /** Deliveries of enabled endpoints that wait for their retry, or for the end of an attempt under way; likewise. */
  scheduled: number;
  /** Unfinished deliveries of disabled endpoints; likewise. */
  disabled: number;
  /** The due time of the delivery that has been due longest, of enabled endpoints; null where none is due. */
  oldestDueAt: Date | null;
  /** Notices that were not published yet; likewise. */
  notices: number;
  /** Enabled endpoints that somebody waits for: their catch-up is due. */
  catchUps: number;
  /** Enabled endpoints whose daily catch-up is due. */
  guards: number;
  endpointsEnabled: number;
  /** Disabled by an admin. */
  endpointsPaused: number;
  /** Disabled by Herald, after consecutive failures. */
  endpointsFailed: number;
  /** Days after today that have partitions. */
  partitionsAhead: number;
  /**
   * For how long the oldest transaction has kept dead rows from being vacuumed, in seconds; 0 where none does. A user without
   * the rights of `pg_read_all_stats` sees its own transactions only.
   */
  oldestTransactionSeconds: number;
}

/** Counting a backlog of millions to its end would burden a database that is busy with it. */
export const COUNTED_AT_MOST = 100_000;

/**
 * Locks nothing. Steps from endpoint to endpoint through due_endpoint_id_due_at_idx, walks it for each of them up to the limit,
 * walks notice_publish_at_id_idx and catch_up_priority_due_at_idx, and reads the endpoints, of which there are few. Its cost
 * follows what is unfinished, not the history.
 */
export async function readLag(queries: Queries, now: Date): Promise<Lag> {
  const [row] = await queries.$queryRaw<Lag[]>`
    with recursive step (endpoint_id) as (
      (select endpoint_id from due order by endpoint_id limit 1)
      union all
      select (select endpoint_id from due where due.endpoint_id > step.endpoint_id order by endpoint_id limit 1)
      from step where endpoint_id is not null
    ), waiting as materialized (
      select endpoint.id, endpoint.enabled from step join webhook_endpoint as endpoint on endpoint.id = step.endpoint_id
    )
    select
      (
        select count(*) from (
          select from waiting
          join due on due.endpoint_id = waiting.id and due.due_at <= ${now}::timestamptz
          where enabled
          limit ${COUNTED_AT_MOST}
        ) as due
      )::int as "due",
      (
        select count(*) from (
          select from waiting
          join due on due.endpoint_id = waiting.id and due.due_at > ${now}::timestamptz
          where enabled
          limit ${COUNTED_AT_MOST}
        ) as scheduled
      )::int as "scheduled",
      (
        select count(*) from (
          select from waiting join due on due.endpoint_id = waiting.id where not enabled limit ${COUNTED_AT_MOST}
        ) as disabled
      )::int as "disabled",
      (
        select min(oldest.due_at) from waiting
        cross join lateral (
          select due_at from due where due.endpoint_id = waiting.id order by due_at limit 1
        ) as oldest
        where enabled and oldest.due_at <= ${now}::timestamptz
      ) as "oldestDueAt",
      (select count(*) from (select from notice limit ${COUNTED_AT_MOST}) as notice)::int as "notices",
      catch_up.*,
      endpoint.*,
      (
        select count(*) from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = 'delivery'::regclass
          and relname > 'delivery_' || to_char(${now}::timestamptz at time zone 'UTC', 'YYYYMMDD') and relname ~ '_[0-9]{8}$'
      )::int as "partitionsAhead",
      (
        select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0) from pg_stat_activity
        where datname = current_database()
          and (backend_xmin is not null or backend_xid is not null)
          and pid <> pg_backend_pid()
      )::float8 as "oldestTransactionSeconds"
    from (
      select
        count(*) filter (where priority = 0)::int as "catchUps",
        count(*) filter (where priority = 1)::int as "guards"
      from catch_up
      join webhook_endpoint as endpoint on endpoint.id = catch_up.endpoint_id and endpoint.enabled
      where priority in (0, 1) and due_at <= ${now}::timestamptz
    ) as catch_up
    cross join (
      select
        count(*) filter (where enabled)::int as "endpointsEnabled",
        count(*) filter (where not enabled and disabled_reason is distinct from 'failures')::int as "endpointsPaused",
        count(*) filter (where not enabled and disabled_reason = 'failures')::int as "endpointsFailed"
      from webhook_endpoint
    ) as endpoint`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return row;
}
