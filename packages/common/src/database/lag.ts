import { Prisma } from "./generated/client.ts";
import { daysAhead, PARTITIONS_OF_HISTORY } from "./partitions.ts";
import type { Queries } from "./queries.ts";

/** How far behind Herald is, as PostgreSQL knows it. */
export interface Lag {
  /** Deliveries of enabled endpoints whose time has come; counted to {@link COUNTED_AT_MOST}. */
  due: number;
  /** Due deliveries that wait for Herald: their endpoint has an attempt free. The other due deliveries wait for their receiver. */
  dueForHerald: number;
  /** Deliveries of enabled endpoints that wait for their retry, or for the end of an attempt; counted to {@link COUNTED_AT_MOST}. */
  scheduled: number;
  /** Unfinished deliveries of disabled endpoints; counted to {@link COUNTED_AT_MOST}. */
  disabled: number;
  /**
   * Since when the oldest delivery waits for Herald: it is due, its endpoint is not paused, and more than half of the attempts that it
   * may have at once are free. Null where none does.
   */
  oldestForHeraldAt: Date | null;
  /** The due time of the oldest delivery of the other enabled endpoints, which wait for their own receivers; null where none does. */
  oldestForReceiverAt: Date | null;
  /** Unpublished notices older than ten seconds; counted to {@link COUNTED_AT_MOST}. Younger ones wait for others that say the same. */
  notices: number;
  /** Enabled endpoints whose requested catch-up is due. */
  catchUps: number;
  /** Enabled endpoints whose daily catch-up is due. */
  guards: number;
  endpointsEnabled: number;
  /** Enabled endpoints whose signing secret no dispatcher can open. */
  endpointsQuarantined: number;
  /** Endpoints that an admin disabled. */
  endpointsPaused: number;
  /** Endpoints that Herald disabled after consecutive failures. */
  endpointsFailed: number;
  /** Days after today that have partitions. */
  partitionsAhead: number;
  /**
   * For how long the oldest transaction has kept dead rows from being vacuumed, in seconds; 0 where none does. A user without
   * the rights of `pg_read_all_stats` sees its own transactions only.
   */
  oldestTransactionSeconds: number;
}

/** No count goes further: to count a backlog of millions would burden a database that is busy with it. */
export const COUNTED_AT_MOST = 100_000;

/** How many of an endpoint's deliveries that are not due are searched for attempts under way. */
const LOOKED_AT = 1_000;

/**
 * The rows of an endpoint show what it waits for. A claim moves a row past its lease, so rows that bear a claim and are not due are
 * attempts under way. An endpoint that fails has one attempt at a time, and pauses between them.
 *
 * Locks nothing. Steps from endpoint to endpoint through due_endpoint_id_due_at_idx, walks it for each of them up to the limit,
 * walks catch_up_priority_due_at_idx, and reads the notices and the endpoints, of which there are few. Its cost
 * follows what is unfinished, not the history.
 */
export async function readLag(
  queries: Queries,
  { now, endpointConcurrency }: { now: Date; endpointConcurrency: number },
): Promise<Lag> {
  const [row] = await queries.$queryRaw<Lag[]>`
    with recursive step (endpoint_id) as (
      (select endpoint_id from due order by endpoint_id limit 1)
      union all
      select (select endpoint_id from due where due.endpoint_id > step.endpoint_id order by endpoint_id limit 1)
      from step where endpoint_id is not null
    ), waiting as materialized (
      select
        endpoint.id, endpoint.enabled, endpoint.paused_until,
        case when endpoint.consecutive_failures > 0 then 1 else ${endpointConcurrency}::int end as allowed
      from step join webhook_endpoint as endpoint on endpoint.id = step.endpoint_id
    ), served as materialized (
      select
        waiting.id, waiting.paused_until, waiting.allowed,
        case when paused_until > ${now}::timestamptz then 0 else greatest(0, allowed - under_way.attempts) end as free
      from waiting
      cross join lateral (
        select count(claim_id) as attempts from (
          select claim_id from due
          where due.endpoint_id = waiting.id and due_at > ${now}::timestamptz
          order by due_at
          limit ${LOOKED_AT}
        ) as later
      ) as under_way
      where enabled
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
        select coalesce(sum(of_endpoint.due), 0) from served
        cross join lateral (
          select count(*) as due from (
            select from due where due.endpoint_id = served.id and due.due_at <= ${now}::timestamptz limit served.free
          ) as first
        ) as of_endpoint
      )::int as "dueForHerald",
      oldest.*,
      (
        select count(*) from (
          select from notice where occurred_at < ${now}::timestamptz - interval '10 seconds' limit ${COUNTED_AT_MOST}
        ) as notice
      )::int as "notices",
      catch_up.*,
      endpoint.*,
      (
        select ${Prisma.raw(daysAhead("clock.now"))}
        from ${Prisma.raw(PARTITIONS_OF_HISTORY)} as partition, (select ${now}::timestamptz as now) as clock
      ) as "partitionsAhead",
      (
        select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0) from pg_stat_activity
        where datname = current_database()
          and (backend_xmin is not null or backend_xid is not null)
          and pid <> pg_backend_pid()
      )::float8 as "oldestTransactionSeconds"
    from (
      select
        min(greatest(first.due_at, paused_until)) filter (where 2 * free > allowed) as "oldestForHeraldAt",
        min(first.due_at) filter (where 2 * free <= allowed) as "oldestForReceiverAt"
      from served
      cross join lateral (
        select due_at from due where due.endpoint_id = served.id order by due_at limit 1
      ) as first
      where first.due_at <= ${now}::timestamptz
    ) as oldest
    cross join (
      select
        count(*) filter (where priority = 0)::int as "catchUps",
        count(*) filter (where priority = 1)::int as "guards"
      from catch_up
      join webhook_endpoint as endpoint on endpoint.id = catch_up.endpoint_id and endpoint.enabled
      where priority in (0, 1) and due_at <= ${now}::timestamptz
    ) as catch_up
    cross join (
      select
        count(*) filter (where enabled and quarantined_at is null)::int as "endpointsEnabled",
        count(*) filter (where enabled and quarantined_at is not null)::int as "endpointsQuarantined",
        count(*) filter (where not enabled and disabled_reason is distinct from 'failures')::int as "endpointsPaused",
        count(*) filter (where not enabled and disabled_reason = 'failures')::int as "endpointsFailed"
      from webhook_endpoint
    ) as endpoint`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return row;
}
