import type { Reads } from "@herald/common/database/queries";
import { oneRow } from "../connections.ts";

/** What a PostgreSQL server says of itself, and whether dispatching is stopped in Herald's database. */
export interface ServerState {
  /** The same for a database and its copies by replication. */
  identity: string;
  inRecovery: boolean;
  /** Grows with each promotion; null in recovery. */
  timeline: string | null;
  /** Since when no attempt begins in any shard; null where one may. */
  stoppedSince: Date | null;
}

/** Locks nothing. */
export async function readServer(reads: Reads): Promise<ServerState> {
  const rows = await reads.$queryRaw<ServerState[]>`
    select
      concat(system.system_identifier, '/', (select oid from pg_database where datname = current_database())) as "identity",
      pg_is_in_recovery() as "inRecovery",
      case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as "timeline",
      (select min(stopped_at) from shard having count(*) = count(stopped_at)) as "stoppedSince"
    from pg_control_system() as system`;
  return oneRow(rows);
}

/** @throws where the second is neither a standby of the first, nor was one until it was promoted */
export function assertRelated(primary: ServerState, standby: ServerState): void {
  if (primary.identity !== standby.identity) {
    throw new Error(
      "The database of STANDBY_DATABASE_URL is no copy of that of DATABASE_URL by replication. Make the standby with pg_basebackup from this cell's primary.",
    );
  }
  if (primary.inRecovery) {
    throw new Error(
      "DATABASE_URL names a standby. It takes this cell's primary, and STANDBY_DATABASE_URL the standby.",
    );
  }
  if (!standby.inRecovery && String(standby.timeline) <= String(primary.timeline)) {
    throw new Error(
      "The server of STANDBY_DATABASE_URL is no standby, and was not promoted from the server of DATABASE_URL: are they the same server, or the wrong way round?",
    );
  }
}

/** A standby that lacks more would keep everything waiting until it has it. One segment of the log. */
const BEHIND_AT_MOST = 16 * 1024 ** 2;

interface Following {
  /** Of the process that receives the log: absent where there is none, null where this user may not see it. */
  status?: string | null;
  timeline: string | null;
  mayPromote: boolean;
  user: string;
  behind: number;
}

/**
 * @param mustPromote whether the command has to do it
 * @throws where the standby does not stream from the primary, or lacks much, or this user may not promote it
 */
export async function assertFollows(
  { primary, standby }: { primary: Reads; standby: Reads },
  { timeline }: ServerState,
  mustPromote: boolean,
): Promise<void> {
  const onPrimary = await primary.$queryRaw<{ lsn: string; waitsFor: string }[]>`
    select pg_current_wal_lsn()::text as "lsn", current_setting('synchronous_standby_names') as "waitsFor"`;
  const there = oneRow(onPrimary);
  const onStandby = await standby.$queryRaw<Following[]>`
    select receiver.status, lpad(to_hex(receiver.received_tli), 8, '0') as "timeline", current_user::text as "user",
      has_function_privilege('pg_promote(boolean, integer)', 'execute') as "mayPromote",
      pg_wal_lsn_diff(${there.lsn}::pg_lsn, pg_last_wal_replay_lsn())::float8 as "behind"
    from (select) as one
    left join pg_stat_wal_receiver as receiver on true`;
  const here = oneRow(onStandby);
  if (mustPromote && !here.mayPromote) {
    throw new Error(
      `${here.user} may not promote the standby. Run on the primary, as a superuser: grant execute on function pg_promote to ${here.user}; ` +
        "or promote it by other means, and say so: --by-hand.",
    );
  }
  if (here.status !== "streaming") {
    throw new Error(
      `The standby does not stream from its primary, or ${here.user} may not see that it does. See pg_stat_wal_receiver there; grant pg_read_all_stats to ${here.user}.`,
    );
  }
  if (String(here.timeline).toUpperCase() !== timeline) {
    throw new Error("The standby follows another server than that of DATABASE_URL.");
  }
  if (here.behind > BEHIND_AT_MOST) {
    throw new Error(
      `The standby lacks ${Math.round(here.behind / 1024 ** 2)} MiB of the primary's log. Wait until it lacks less than ${BEHIND_AT_MOST / 1024 ** 2} MiB.`,
    );
  }
  if (there.waitsFor !== "") {
    throw new Error(
      `Commits of the primary wait for standbys (synchronous_standby_names is ${there.waitsFor}), and would wait for ever for one that is promoted. ` +
        "Set it to '' until the cell is split.",
    );
  }
}

const SERVICES = ["herald-management-api", "herald-publisher", "herald-dispatcher", "herald-serve"];

/** @throws where a service of Herald's is connected to the database: what it writes now could be on one side only */
export async function assertUnused(reads: Reads, which: string): Promise<void> {
  const connected = await reads.$queryRaw<{ name: string; count: number }[]>`
    select application_name as "name", count(*)::int as "count" from pg_stat_activity
    where datname = current_database() and application_name = any (${SERVICES}::text[])
    group by 1 order by 1`;
  if (connected.length === 0) return;
  const names = connected.map(({ name, count }) => `${name} (${count})`).join(", ");
  throw new Error(
    `Services are connected to ${which}: ${names}. Stop all of the cell's services, and wait until their processes have ended; ` +
      "a pooler has to close its connections too.",
  );
}
