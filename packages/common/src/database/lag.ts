import { Prisma } from "./generated/client.ts";
import { daysAhead, PARTITIONS_OF_HISTORY } from "./partitions.ts";
import { oneRow, type Reads } from "./queries.ts";
import { type Dispatching, readDispatching } from "./shards.ts";

export interface Lag extends Dispatching {
  /** Deliveries of enabled endpoints whose time has come, those under way too; counted to {@link COUNTED_AT_MOST}. */
  due: number;
  /** Due deliveries that could be attempted at once, or are: the first of each endpoint. The other due deliveries wait for their receiver. */
  dueForHerald: number;
  /** Deliveries of enabled endpoints that wait for their retry; counted to {@link COUNTED_AT_MOST}. */
  scheduled: number;
  /** Unfinished deliveries of disabled endpoints; counted to {@link COUNTED_AT_MOST}. */
  parked: number;
  /**
   * Since when the oldest delivery waits for Herald: it is due, its endpoint is not paused, and has no more due deliveries than could be
   * attempted at once, or has no dispatcher that makes its attempts. Null if none does.
   */
  oldestForHeraldAt: Date | null;
  /** The due time of the oldest delivery of the other enabled endpoints, which wait for their own receivers; null if none does. */
  oldestForReceiverAt: Date | null;
  /** Notices that the broker has not confirmed ten seconds after they were made; counted to {@link COUNTED_AT_MOST}. */
  notices: number;
  catchUps: number;
  guards: number;
  endpointsEnabled: number;
  /** Enabled endpoints whose signing secret no dispatcher can open. */
  endpointsQuarantined: number;
  endpointsPaused: number;
  endpointsFailed: number;
  /** For how long the oldest transaction has kept dead rows from being vacuumed. Without the rights of `pg_read_all_stats`, own ones alone count. */
  oldestTransactionSeconds: number;
  connectionsUsed: number;
  /** How many connections users without special rights may have together. */
  connectionsAllowed: number;
}

/** No count goes further: to count a backlog of millions would burden a database that is busy with it. */
export const COUNTED_AT_MOST = 100_000;

/**
 * Decides whether an endpoint's due deliveries wait for Herald or for their receiver. The owner attempts the first due rows at once: as many as the
 * endpoint may have in flight; a single one, after a pause, if the endpoint is failing. If an endpoint with an owner has more due rows than that, it
 * waits for its receiver.
 *
 * Locks nothing. Steps from endpoint to endpoint through due_pkey, walks it for each of them up to a limit,
 * walks catch_up_priority_due_at_idx, and reads the notices, the endpoints, the shards and the processes, which are few. Its cost
 * follows what is unfinished, not the history.
 */
export async function readLag(
  reads: Reads,
  { now, endpointConcurrency }: { now: Date; endpointConcurrency: number },
): Promise<Lag> {
  const dispatching = await readDispatching(reads);
  const counted = (rows: Prisma.Sql) =>
    Prisma.sql`(select count(*) from (${rows} limit ${COUNTED_AT_MOST}) as counted)::int`;
  const unfinished = (which: Prisma.Sql) =>
    counted(Prisma.sql`
      select from waiting join due on due.shard = waiting.shard and due.endpoint_id = waiting.id where ${which}`);
  const rows = await reads.$queryRaw<Omit<Lag, keyof Dispatching>[]>`
    with recursive step (shard, endpoint_id) as (
      (select shard, endpoint_id from due order by shard, endpoint_id limit 1)
      union all
      select next.shard, next.endpoint_id from step
      cross join lateral (
        select shard, endpoint_id from due
        where (due.shard, due.endpoint_id) > (step.shard, step.endpoint_id)
        order by shard, endpoint_id
        limit 1
      ) as next
    ), waiting as materialized (
      select
        step.shard, endpoint.id, endpoint.enabled, endpoint.paused_until,
        case when endpoint.consecutive_failures > 0 then 1 else ${endpointConcurrency}::int end as allowed,
        coalesce(endpoint.paused_until > ${now}::timestamptz, false) as is_paused
      from step join webhook_endpoint as endpoint on endpoint.id = step.endpoint_id
    ), served as materialized (
      select
        waiting.paused_until, waiting.is_paused, waiting.allowed, of_endpoint.due, of_endpoint.oldest_at,
        not is_paused and (
          of_endpoint.due <= allowed
          or not exists (
            select from shard
            join process as owner on owner.id = shard.owner and owner.alive_until > now()
            where shard.id = waiting.shard
          )
        ) as for_herald
      from waiting
      cross join lateral (
        select count(*) as due, min(due_at) as oldest_at from (
          select due_at from due
          where due.shard = waiting.shard and due.endpoint_id = waiting.id and due_at <= ${now}::timestamptz
          order by due_at
          limit waiting.allowed + 1
        ) as first
      ) as of_endpoint
      where enabled and of_endpoint.due > 0
    )
    select
      ${unfinished(Prisma.sql`enabled and due_at <= ${now}::timestamptz`)} as "due",
      ${unfinished(Prisma.sql`enabled and due_at > ${now}::timestamptz`)} as "scheduled",
      ${unfinished(Prisma.sql`not enabled`)} as "parked",
      waits_for.*,
      ${counted(Prisma.sql`select from notice where occurred_at < ${now}::timestamptz - interval '10 seconds'`)} as "notices",
      catch_up.*,
      endpoint.*,
      (
        select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0) from pg_stat_activity
        where datname = current_database()
          and (backend_xmin is not null or backend_xid is not null)
          and pid <> pg_backend_pid()
      )::int as "oldestTransactionSeconds",
      (select sum(numbackends) from pg_stat_database)::int as "connectionsUsed",
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as "connectionsAllowed"
    from (
      select
        coalesce(sum(least(due, allowed)) filter (where not is_paused), 0)::int as "dueForHerald",
        min(greatest(oldest_at, paused_until)) filter (where for_herald) as "oldestForHeraldAt",
        min(oldest_at) filter (where not for_herald) as "oldestForReceiverAt"
      from served
    ) as waits_for
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
  return { ...oneRow(rows), ...dispatching };
}

/** Counts the days after today that have partitions. Waits for a lock of a partition: PostgreSQL takes one to write a bound as text. */
export async function readDaysAhead(reads: Reads, now: Date): Promise<number> {
  const [row] = await reads.$queryRaw<{ days: number }[]>`
    select ${Prisma.raw(daysAhead("clock.now"))} as days
    from ${Prisma.raw(PARTITIONS_OF_HISTORY)} as partition, (select ${now}::timestamptz as now) as clock`;
  return row?.days ?? 0;
}
