import { Prisma } from "./generated/client.ts";
import type { Reads } from "./queries.ts";

/** A session that holds Herald up: it has a lock, or stands before Herald in the queue for one, and waits for no lock itself. */
export interface BlockingSession {
  /** 0 for a prepared transaction, which has no session. */
  pid: number;
  /** The tables whose locks Herald's statements wait for. */
  tables: string[];
  /** How many of Herald's sessions wait, directly or behind others. */
  waiters: number;
  /** The rest is null if this user may not see it. */
  user: string | null;
  application: string | null;
  client: string | null;
  state: string | null;
  since: Date | null;
  /** The beginning of its latest statement, without the values in it. */
  query: string | null;
}

/** Locks are waited for all the time, for milliseconds. */
const WAITED_SECONDS = 1;

/**
 * Answers a {@link BlockingSession} for each session at the head of a queue in which a statement of Herald's has waited for a second or more. Herald's
 * sessions are known by their name: whoever waits in another program's sessions is no concern of an operator of Herald.
 *
 * Locks nothing, and waits for no lock of a table: it can be read while any of them is locked. `pg_blocking_pids` stops PostgreSQL's lock manager for
 * a moment, so it is asked for sessions that wait, and for each of them once.
 */
export const BLOCKING_SESSIONS = `
  with recursive waiting as materialized (
    select
      lock.pid, pg_blocking_pids(lock.pid) as blockers,
      session.application_name like 'herald%' and lock.waitstart < clock_timestamp() - interval '${WAITED_SECONDS} s' as is_held_up,
      -- Who waits for a row's transaction has the row's own lock, which names the table.
      coalesce(lock.relation, (select max(relation) from pg_locks as own where own.pid = lock.pid and own.locktype = 'tuple'))::regclass::text as table
    from pg_locks as lock
    join pg_stat_activity as session on session.pid = lock.pid and session.datname = current_database()
    where not lock.granted
  ), chain (pid, waiter, "table") as (
    select blocker, waiting.pid, waiting.table from waiting, unnest(blockers) as blocker where is_held_up
    union
    select blocker, chain.waiter, chain.table from chain join waiting on waiting.pid = chain.pid, unnest(blockers) as blocker
  )
  select
    chain.pid, array_remove(array_agg(distinct chain.table), null) as tables, count(distinct waiter)::int as waiters,
    usename::text as user, coalesce(nullif(application_name, ''), backend_type) as application, host(client_addr) as client, state, xact_start as since,
    left(regexp_replace(regexp_replace(query, '''[^'']*(''|$)', '''...''', 'g'), '\\s+', ' ', 'g'), 120) as query
  from chain
  left join pg_stat_activity as holder on holder.pid = chain.pid
  where chain.pid not in (select pid from waiting)
  group by chain.pid, usename, application_name, backend_type, client_addr, state, xact_start, query
  order by waiters desc, chain.pid`;

export async function readBlockingSessions(reads: Reads): Promise<BlockingSession[]> {
  return await reads.$queryRaw<BlockingSession[]>`${Prisma.raw(BLOCKING_SESSIONS)}`;
}
