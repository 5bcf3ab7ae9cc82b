import { OLDEST_POSTGRES, type Session } from "@herald/common/database/client";
import { createDatabaseClock } from "@herald/common/database/database-clock";
import { databaseDefaults } from "@herald/common/database/database-defaults";
import { daysAhead, PARTITIONS_OF_HISTORY, partitionsOf } from "@herald/common/database/partitions";
import type { ServiceName } from "@herald/common/database/rights";
import { DISPATCHING, type Dispatching, SHARDS } from "@herald/common/database/shards";
import type { Clock } from "@herald/common/runtime/clock";
import type { SecretBox } from "@herald/common/security/secret-box";
import { differencesOf, type Process, SILENT_SECONDS } from "@herald/common/service/processes";
import { plural } from "../output.ts";
import { type Check, type Finding, fault, ok, warning } from "./finding.ts";

/** The database as checks find it, and what they hold it against. */
export interface DatabaseSubject {
  url: string;
  ca: string | undefined;
  session: Session;
  /** Opens another one, to be closed by the check. */
  openSession(): Promise<Session>;
  /** Whether DATABASE_URL lets statements be prepared under a name. */
  preparesStatements: boolean;
  /** DATABASE_POOL_SIZE */
  poolSize: number;
  /** DATABASE_TIMEOUT_SECONDS, in milliseconds. */
  statementTimeoutMs: number;
  /** How many processes of Herald's run, or shall run. */
  processes: number;
  /** The service that the database's user belongs to; undefined for one user of all services. */
  service: ServiceName | undefined;
  machineClock: Clock;
  /** Undefined where SECRET_KEYS is not set, or can't be used. */
  secretBox: SecretBox | undefined;
}

/** A check that asks one thing, and judges the answer. */
interface Asked<Row> extends Check<DatabaseSubject> {
  judge(rows: readonly Row[], subject: Pick<DatabaseSubject, "poolSize" | "processes">): Finding | Finding[];
}

function asked<Row>(name: string, sql: string, judge: Asked<Row>["judge"]): Asked<Row> {
  return {
    name,
    judge,
    examine: async (subject) => judge(await subject.session.query<Row>(sql), subject),
  };
}

/** `number` is as `server_version_num` has it: 180004 for 18.4. */
export const server = asked<{ number: number; text: string; isStandby: boolean; encoding: string }>(
  "PostgreSQL",
  `select current_setting('server_version_num')::int as number, current_setting('server_version') as text,
     pg_is_in_recovery() as "isStandby", current_setting('server_encoding') as encoding`,
  ([{ number, text, isStandby, encoding } = { number: 0, text: "", isStandby: false, encoding: "" }]) => {
    if (number < OLDEST_POSTGRES * 10_000) {
      return fault(
        `It is PostgreSQL ${text}; Herald needs ${OLDEST_POSTGRES} or newer.`,
        "Upgrade the server, or point DATABASE_URL at a newer one.",
      );
    }
    if (isStandby) {
      return fault(
        "It is a standby, which takes no writes.",
        "Point DATABASE_URL at the primary, by a name that follows it when it fails over.",
      );
    }
    if (encoding !== "UTF8") {
      return fault(
        `Its encoding is ${encoding}, which can't hold every text of an event.`,
        "Make a new database with encoding UTF8, and migrate that.",
      );
    }
    return ok(`PostgreSQL ${text}, in UTF8.`);
  },
);

const LOSES = "a power cut loses events that Herald has acknowledged";

/** What PostgreSQL has to give a session of Herald's, as a pattern; and what comes of another value. */
const SESSION_SETTINGS: Readonly<Record<string, readonly [RegExp, string]>> = {
  search_path: [/^public$/, "Herald's tables, which are in public, are not found"],
  default_transaction_read_only: [/^off$/, "nothing can be written"],
  lock_timeout: [/^0$/, "statements fail that wait for a lock"],
  idle_session_timeout: [/^0$/, "connections end that wait for work"],
  transaction_timeout: [/^0$/, "transactions end before their time"],
  autovacuum: [/^on$/, "dead rows stay, and statements take ever longer"],
  track_counts: [/^on$/, "nothing is vacuumed, and statements take ever longer"],
  fsync: [/^on$/, LOSES],
  full_page_writes: [/^on$/, LOSES],
  synchronous_commit: [/^(?!off$)/, LOSES],
};

const MIGRATE =
  "Run herald migrate with the services' DATABASE_TIMEOUT_SECONDS, and with pgbouncer=true in its DATABASE_URL where they have it. " +
  "Where it prints statements, run them as the owner of the database. A pooler's open connections keep what they had: let it connect anew.";

export const sessionSettings: Check<DatabaseSubject> = {
  name: "sessions' settings",
  async examine({ session, statementTimeoutMs, preparesStatements }) {
    const defaults = databaseDefaults({ statementTimeoutMs, preparesStatements });
    // A path may be written in many ways: what counts is the first schema of it that is there. A database without tables gets its
    // defaults with them.
    const found = await session.query<Record<"name" | "setting" | "source" | "user", string> & { hasTables: boolean }>(
      `select name, case name when 'search_path' then coalesce(current_schema(), setting) else setting end as setting, source,
         current_user as user, to_regclass('public.due') is not null as "hasTables"
       from pg_settings where name = any($1::text[])`,
      [Object.keys({ ...SESSION_SETTINGS, ...defaults })],
    );
    const findings = found.flatMap(({ name, setting, source, user, hasTables }) => {
      const isOfUser = source.includes("user");
      const remedy = isOfUser
        ? `alter role ${user} reset ${name}, or where it is of one database: alter role ${user} in database NAME reset ${name}`
        : `Change it where it comes from, which is: ${source}.`;
      const [right, otherwise] = SESSION_SETTINGS[name] ?? [];
      if (right && !right.test(setting)) return [fault(`${name} is ${setting}: ${otherwise}.`, remedy)];
      const wanted = (hasTables && defaults[name as keyof typeof defaults]) || setting;
      if (wanted === setting) return [];
      const what = `${name} is ${setting} and not ${wanted}, so statements take longer, end too early, or have no limit.`;
      return [warning(what, isOfUser ? remedy : MIGRATE)];
    });
    return findings.length > 0 ? findings : ok("They are those that Herald's statements are made for.");
  },
};

/** Connections that stay free for a migration or a command beside the services. */
const SPARE = 2;

/**
 * `server` is max_connections, without those that are kept for administrators; `others` are connections of others than Herald's: of
 * another user's, anybody may see that it is there and what it is called. A limit is -1 where there is none.
 */
export const connections = asked<Record<"server" | "others" | "role" | "database", number>>(
  "connections",
  `select
     current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
       - coalesce(current_setting('reserved_connections', true), '0')::int as server,
     (select count(*) from pg_stat_activity where usesysid is not null and application_name not like 'herald%')::int as others,
     (select rolconnlimit from pg_roles where rolname = current_user) as role,
     (select datconnlimit from pg_database where datname = current_database()) as database`,
  (
    [{ server, others, role, database } = { server: 0, others: 0, role: -1, database: -1 }],
    { poolSize, processes },
  ) => {
    // One more than the pool: /readyz has its own.
    const needed = processes * (poolSize + 1) + SPARE;
    const limits = [
      { free: Math.max(0, server - others), what: "the server", raise: "max_connections" },
      { free: role, what: "this user's limit", raise: "the user's connection limit" },
      { free: database, what: "the database's limit", raise: "the database's connection limit" },
    ].filter(({ free }) => free >= 0);
    const tightest = limits.reduce((least, each) => (each.free < least.free ? each : least));
    const wanted = `${processes} processes with DATABASE_POOL_SIZE=${poolSize} may open ${needed} connections`;
    if (needed <= tightest.free) return ok(`${wanted}; ${tightest.free} are free.`);
    return fault(
      `${wanted}; ${tightest.what} leaves ${tightest.free}.`,
      `Raise ${tightest.raise}, or lower DATABASE_POOL_SIZE. --processes says how many processes run.`,
    );
  },
);

export const replicationSlots = asked<{ name: string; mib: number }>(
  "replication slots",
  `select slot_name as name, (pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) / 1048576)::int as mib
   from pg_replication_slots where not active and restart_lsn is not null order by 1`,
  (abandoned) =>
    abandoned.length === 0
      ? ok("Each that there is has a reader.")
      : abandoned.map(({ name, mib }) =>
          warning(
            `Nobody reads the replication slot ${name}: PostgreSQL keeps all its log since then, ${mib} MiB, until the disk is full.`,
            `Start the standby that reads it, or as an administrator: select pg_drop_replication_slot('${name}')`,
          ),
        ),
);

export const clocks: Check<DatabaseSubject> = {
  name: "clocks",
  async examine({ session, machineClock }) {
    const clock = createDatabaseClock(machineClock);
    const askedMs = clock.monotonicMs();
    const [row] = await session.query<{ ms: number }>(
      "select extract(epoch from clock_timestamp())::float8 * 1000 as ms",
    );
    clock.update({ askedMs, databaseMs: (row as { ms: number }).ms, answeredMs: clock.monotonicMs() });
    return clockFinding(clock.machineAheadMs());
  },
};

const OFF_MS = 1_000;
/** From this difference of clocks on, logs of several machines can't be read side by side. */
const FAR_OFF_MS = 60_000;

/** @param aheadMs by how much this machine's clock is ahead of PostgreSQL's */
export function clockFinding(aheadMs: number): Finding {
  const offMs = Math.abs(aheadMs);
  if (offMs < OFF_MS) return ok("This machine's clock and PostgreSQL's agree.");
  const what = `This machine's clock is ${Math.round(offMs / 1_000)} s ${aheadMs > 0 ? "ahead of" : "behind"} PostgreSQL's, which Herald goes by.`;
  if (offMs < FAR_OFF_MS) return ok(what);
  return warning(
    `${what} Logs bear this machine's time, and certificates are judged by it.`,
    "Have both follow a time server (chrony, systemd-timesyncd); check with: timedatectl",
  );
}

/** Publishers make eight days ahead, and look all the time. */
const FEW_DAYS = 4;

/** `gaps` are days that one table of the history has, and another one lacks: "delivery for 2026-01-31". */
export const partitions = asked<{ all: number; ahead: number; gaps: string[] }>(
  "partitions",
  `with day_of as (
     select distinct parent, day::date from ${partitionsOf()} as partition, generate_series(first_day, end_day - 1, '1 day') as day
   )
   select count(*)::int as all, ${daysAhead("now()")} as ahead, array(
     select parent || ' for ' || day from (select distinct parent from day_of) as parents, (select distinct day from day_of) as days
     where not exists (select from day_of where (day_of.parent, day_of.day) = (parents.parent, days.day)) order by day limit 3
   ) as gaps
   from ${PARTITIONS_OF_HISTORY} as partition`,
  ([{ all, ahead, gaps } = { all: 0, ahead: 0, gaps: [] }]) => {
    const findings = [];
    if (gaps.length > 0) {
      findings.push(
        fault(
          `A partition is missing: of ${gaps.join(", of ")}. Nothing of such a day can be stored, or found.`,
          "Attach it again as the owner of the tables: alter table TABLE attach partition TABLE_YYYYMMDD for values from ... to ..., " +
            "with the bounds that \\d+ shows of the same day's partition of another table.",
        ),
      );
    }
    const remedy =
      "Start a publisher, which makes them, and read its log. Its user has to be allowed to execute make_partitions(date, date).";
    if (all > 0 && ahead === 0)
      findings.push(fault("No day ahead has partitions: from midnight in UTC on nothing can be stored.", remedy));
    else if (all > 0 && ahead < FEW_DAYS)
      findings.push(warning(`Only ${plural(ahead, "day")} ahead ${ahead === 1 ? "has" : "have"} partitions.`, remedy));
    if (findings.length > 0) return findings;
    return ok(all === 0 ? "None yet; a publisher makes them when it starts." : `${ahead} days ahead have theirs.`);
  },
);

/** Old ones, which run beside new ones for a while, may differ from them. */
export const toldAlike = asked<Process>(
  "processes' settings",
  `select id, service, name, facts from process where said_at > now() - interval '${SILENT_SECONDS} seconds'`,
  (living) => {
    const differences = differencesOf(living);
    if (differences.length === 0)
      return ok(`${plural(living.length, "service")} at work were told alike what they share.`);
    return differences.map(({ what }) =>
      warning(what, "Give all of them the right value, and restart those that have another one."),
    );
  },
);

export const dispatchers = asked<Dispatching>("dispatchers", DISPATCHING, (found) => {
  // There is always one row.
  const { stoppedSince, shardsStopped, shardsOwned, shardsUnowned, dispatchersAble, dispatchersUnable } =
    found[0] as Dispatching;
  const findings: Finding[] = [];
  if (stoppedSince !== null) {
    findings.push(
      warning(
        `Dispatching is stopped since ${stoppedSince.toISOString()}: no attempt begins in ${shardsStopped} of ${SHARDS} shards.`,
        'Where it is done what it was stopped for, such as closing the gap of a restore: "herald dispatch start".',
      ),
    );
  }
  if (dispatchersUnable > 0) {
    findings.push(
      warning(
        `${plural(dispatchersUnable, "dispatcher")} can make no attempts; ${dispatchersAble} can.`,
        "Read their logs: they can reach no receiver at all, or lack a key.",
      ),
    );
  }
  if (shardsUnowned > 0 && dispatchersAble > 0) {
    findings.push(
      warning(
        `Nobody owns ${shardsUnowned} of ${SHARDS} shards, so that their deliveries wait.`,
        "Ask again: a dispatcher takes them within seconds. Where none does, read their logs.",
      ),
    );
  }
  if (findings.length > 0) return findings;
  if (dispatchersAble === 0) return ok("None is at work.");
  return ok(`${plural(dispatchersAble, "dispatcher")} at work own ${shardsOwned} shards.`);
});
