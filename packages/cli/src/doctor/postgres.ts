import { createDatabaseClock } from "@herald/common/database/database-clock";
import { databaseDefaults } from "@herald/common/database/database-defaults";
import { OLDEST_POSTGRES } from "@herald/common/database/postgres-version";
import type { ServiceName } from "@herald/common/database/rights";
import type { Session } from "@herald/common/database/session";
import type { Clock } from "@herald/common/runtime/clock";
import type { SecretBox } from "@herald/common/security/secret-box";
import { differencesOf, type Process, SILENT_SECONDS } from "@herald/common/service/processes";
import { type Check, type Finding, fault, ok, plural, warning } from "./finding.ts";

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
  /** Whose user it is; undefined for one user of all services. */
  service: ServiceName | undefined;
  machineClock: Clock;
  /** Undefined where SECRET_KEYS is not set, or can't be used. */
  secretBox: SecretBox | undefined;
}

export const server: Check<DatabaseSubject> = {
  name: "PostgreSQL",
  async examine({ session }) {
    const [row] = await session.query<Server>(
      `select current_setting('server_version_num')::int as number, current_setting('server_version') as text,
              pg_is_in_recovery() as "isStandby", current_setting('server_encoding') as encoding`,
    );
    return serverFinding(row as Server);
  },
};

export interface Server {
  /** As `server_version_num` has it: 180004 for 18.4. */
  number: number;
  text: string;
  isStandby: boolean;
  encoding: string;
}

export function serverFinding({ number, text, isStandby, encoding }: Server): Finding {
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
}

/** A setting of a session, and where it comes from, as pg_settings says it. */
export interface SessionSetting {
  name: string;
  setting: string;
  source: string;
}

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

export const sessionSettings: Check<DatabaseSubject> = {
  name: "sessions' settings",
  async examine({ session, statementTimeoutMs, preparesStatements }) {
    const defaults = databaseDefaults({ statementTimeoutMs, preparesStatements });
    // A path may be written in many ways: what counts is the first schema of it that is there. A database without tables gets its
    // defaults with them.
    const found = await session.query<SessionSetting & { user: string; hasTables: boolean }>(
      `select name, case name when 'search_path' then coalesce(current_schema(), setting) else setting end as setting, source,
         current_user as user, to_regclass('public.due') is not null as "hasTables"
       from pg_settings where name = any($1::text[])`,
      [Object.keys({ ...SESSION_SETTINGS, ...defaults })],
    );
    return sessionFindings(found, found[0]?.hasTables ? defaults : {}, found[0]?.user ?? "USER");
  },
};

const MIGRATE =
  "Run herald migrate with the services' DATABASE_TIMEOUT_SECONDS, and with pgbouncer=true in its DATABASE_URL where they have it. " +
  "Where it prints statements, run them as the owner of the database. A pooler's open connections keep what they had: let it connect anew.";

/** @param defaults those of the database, which a migration sets */
export function sessionFindings(
  found: readonly SessionSetting[],
  defaults: Readonly<Record<string, string>>,
  user: string,
): Finding[] {
  const findings = found.flatMap(({ name, setting, source }) => {
    const remedy = source.includes("user")
      ? `alter role ${user} reset ${name}, or where it is of one database: alter role ${user} in database NAME reset ${name}`
      : `Change it where it comes from, which is: ${source}.`;
    const [right, otherwise] = SESSION_SETTINGS[name] ?? [];
    if (right && !right.test(setting)) return [fault(`${name} is ${setting}: ${otherwise}.`, remedy)];
    const wanted = defaults[name] ?? setting;
    if (wanted === setting) return [];
    const what = `${name} is ${setting} and not ${wanted}: statements take longer, or run without a limit.`;
    return [warning(what, source.includes("user") ? remedy : MIGRATE)];
  });
  return findings.length > 0 ? findings : [ok("They are those that Herald's statements are made for.")];
}

export interface ConnectionLimits {
  /** max_connections, without those that are kept for administrators. */
  server: number;
  /** Connections of others than Herald's. */
  others: number;
  /** -1 where there is none. */
  role: number;
  /** Likewise. */
  database: number;
}

export const connections: Check<DatabaseSubject> = {
  name: "connections",
  async examine({ session, poolSize, processes }) {
    // Of another user's connection, anybody may see that it is there and what it is called.
    const [row] = await session.query<ConnectionLimits>(
      `select
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true), '0')::int as server,
         (select count(*) from pg_stat_activity where usesysid is not null and application_name not like 'herald%')::int as others,
         (select rolconnlimit from pg_roles where rolname = current_user) as role,
         (select datconnlimit from pg_database where datname = current_database()) as database`,
    );
    return connectionsFinding(row as ConnectionLimits, { poolSize, processes });
  },
};

/** For a migration or a command beside the services. */
const SPARE = 2;

export function connectionsFinding(
  { server, others, role, database }: ConnectionLimits,
  { poolSize, processes }: { poolSize: number; processes: number },
): Finding {
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
}

export const replicationSlots: Check<DatabaseSubject> = {
  name: "replication slots",
  async examine({ session }) {
    const abandoned = await session.query<{ name: string; mib: number }>(
      `select slot_name as name, (pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) / 1048576)::int as mib
       from pg_replication_slots where not active and restart_lsn is not null order by 1`,
    );
    if (abandoned.length === 0) return ok("Each that there is has a reader.");
    return abandoned.map(({ name, mib }) =>
      warning(
        `Nobody reads the replication slot ${name}: PostgreSQL keeps all its log since then, ${mib} MiB, until the disk is full.`,
        `Start the standby that reads it, or as an administrator: select pg_drop_replication_slot('${name}')`,
      ),
    );
  },
};

export const clocks: Check<DatabaseSubject> = {
  name: "clocks",
  async examine({ session, machineClock }) {
    const clock = createDatabaseClock(machineClock);
    const askedMs = clock.monotonicMs();
    const [row] = await session.query<{ ms: number }>(
      "select extract(epoch from clock_timestamp())::float8 * 1000 as ms",
    );
    clock.heard({ askedMs, databaseMs: (row as { ms: number }).ms, answeredMs: clock.monotonicMs() });
    return clockFinding(clock.machineAheadMs());
  },
};

const OFF_MS = 1_000;
/** Logs of several machines can't be read side by side any more. */
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

export const partitions: Check<DatabaseSubject> = {
  name: "partitions",
  async examine({ session }) {
    const [row] = await session.query<{ all: number; ahead: number }>(
      `select count(*)::int as all,
         (count(*) filter (where right(relname, 8) > to_char(now() at time zone 'utc', 'YYYYMMDD')))::int as ahead
       from pg_inherits join pg_class on pg_class.oid = inhrelid
       where inhparent = 'delivery'::regclass and relname ~ '_[0-9]{8}$'`,
    );
    return partitionsFinding(row as { all: number; ahead: number });
  },
};

/** Publishers make eight days ahead, and look each hour. */
const FEW_DAYS = 4;

export function partitionsFinding({ all, ahead }: { all: number; ahead: number }): Finding {
  if (all === 0) return ok("None yet; a publisher makes them when it starts.");
  if (ahead >= FEW_DAYS) return ok(`${ahead} days ahead have theirs.`);
  const remedy =
    "Start a publisher, which makes them each hour, and read its log. Its user has to be allowed to execute make_partitions(date).";
  if (ahead > 0)
    return warning(`Only ${plural(ahead, "day")} ahead ${ahead === 1 ? "has" : "have"} partitions.`, remedy);
  return fault(
    "No day ahead has partitions: what comes is stored without a day of its own, and retention can't drop it.",
    remedy,
  );
}

/** Old ones, which run beside new ones for a while, may differ from them. */
export const toldAlike: Check<DatabaseSubject> = {
  name: "processes' settings",
  async examine({ session }) {
    const living = await session.query<Process>(
      "select id, service, name, facts from process where said_at > now() - $1::int * interval '1 second'",
      [SILENT_SECONDS],
    );
    const differences = differencesOf(living);
    if (differences.length === 0)
      return ok(`${plural(living.length, "service")} at work were told alike what they share.`);
    return differences.map(({ what }) =>
      warning(what, "Give all of them the right value, and restart those that have another one."),
    );
  },
};

export const restore: Check<DatabaseSubject> = {
  name: "restore",
  async examine({ session }) {
    const [begun] = await session.query<{ at: Date }>("select begun_at as at from restore");
    if (begun === undefined) return ok("None is under way.");
    return warning(
      `One is under way since ${begun.at.toISOString()}: no attempt begins.`,
      'Close its gap, as docs/operating/restore.md says; then "herald restore end".',
    );
  },
};
