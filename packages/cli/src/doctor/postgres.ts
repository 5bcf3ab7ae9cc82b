import { randomBytes } from "node:crypto";
import type { Session } from "@herald/common/database/client";
import { databaseDefaults } from "@herald/common/database/database-defaults";
import {
  DATABASE_INFO,
  type DatabaseInfo,
  encodingFault,
  placeFault,
  resetOf,
  standbyFault,
  versionFault,
} from "@herald/common/database/database-info";
import { READ_ONLY, sqlStateOf } from "@herald/common/database/errors";
import { daysAhead, LOCKS_A_PARTITION, PARTITIONS_OF_HISTORY } from "@herald/common/database/partitions";
import { oneRow } from "@herald/common/database/queries";
import type { ServiceName } from "@herald/common/database/rights";
import { DISPATCHING, type Dispatching, SHARDS } from "@herald/common/database/shards";
import type { Clock } from "@herald/common/runtime/clock";
import { within } from "@herald/common/runtime/repeat";
import { reasonOf } from "@herald/common/security/connection-fault";
import type { SecretBox } from "@herald/common/security/secret-box";
import {
  type Difference,
  differencesOf,
  FAR_OFF_SECONDS,
  type Facts,
  HEARD,
  type Heard,
  LIVING,
  type Process,
  SILENT_SECONDS,
} from "@herald/common/service/processes";
import { plural } from "../output.ts";
import { ANSWER_MS, type Check, type Finding, fault, ok, skipped, warning, warningsOf } from "./finding.ts";
import { locks } from "./locks.ts";

/** The database as checks find it, and what they hold it against. */
export interface DatabaseSubject {
  url: string;
  caFile: string | undefined;
  session: Session;
  /** Opens another one, to be closed by the check. */
  openSession(): Promise<Session>;
  /** Whether DATABASE_URL lets statements be prepared under a name. */
  preparesStatements: boolean;
  /** DATABASE_TIMEOUT_SECONDS, in milliseconds. */
  statementTimeoutMs: number;
  endpointConcurrency: number;
  /** The service that the database's user belongs to; undefined for one user of all services. */
  service: ServiceName | undefined;
  machineClock: Clock;
  /** Undefined if SECRET_KEYS is not set, or can't be used. */
  secretBox: SecretBox | undefined;
  /** This environment's values of the settings that all processes share. */
  facts: Facts;
}

/** A check that asks one thing, and judges the answer. */
interface Asked<Row> extends Check<DatabaseSubject> {
  judge(rows: readonly Row[], subject: Pick<DatabaseSubject, "facts">): Finding | Finding[];
}

function asked<Row>(name: string, sql: string, judge: Asked<Row>["judge"]): Asked<Row> {
  return {
    name,
    judge,
    examine: async (subject) => judge(await subject.session.read<Row>(sql), subject),
  };
}

export const server = asked<DatabaseInfo>("PostgreSQL", DATABASE_INFO, (rows) =>
  rows.flatMap((info) => {
    const faults = [standbyFault, versionFault, encodingFault, placeFault].flatMap((faultOf) => faultOf(info) ?? []);
    if (faults.length > 0) return faults.map(({ what, remedy }) => fault(what, remedy));
    return [ok(`PostgreSQL ${info.versionText}, in UTF8.`)];
  }),
);

export const collation = asked<{ before: string; now: string; database: string }>(
  "collation",
  `select datcollversion as before, pg_database_collation_actual_version(oid) as now, quote_ident(datname) as database
   from pg_database
   where datname = current_database() and datcollversion <> pg_database_collation_actual_version(oid)`,
  (rows) =>
    rows.map(({ before, now, database }) =>
      warning(
        `An upgrade of the operating system may have changed the order of text (collation version ${before}, now ${now}). Herald's keys do not depend on it.`,
        `If other tables are in this database, have the indexes of their texts written again (reindex). Then, as its owner: \`alter database ${database} refresh collation version\``,
      ),
    ),
);

const LOSES = "a power cut loses events that Herald has acknowledged";

/** The right values of a session's settings, as a pattern; and the effect of another value. */
const SESSION_SETTINGS: Readonly<Record<string, readonly [RegExp, string]>> = {
  default_transaction_read_only: [/^off$/, "nothing can be written"],
  default_transaction_isolation: [/^read committed$/, "statements fail that meet each other"],
  lock_timeout: [/^0$/, "statements fail that wait for a lock"],
  idle_session_timeout: [/^0$/, "connections end that wait for work"],
  transaction_timeout: [/^0$/, "transactions end before their time"],
  temp_file_limit: [/^-1$/, "statements fail that sort much"],
  autovacuum: [/^on$/, "dead rows stay, and statements take ever longer"],
  track_counts: [/^on$/, "nothing is vacuumed, and statements take ever longer"],
  session_replication_role: [/^origin$/, "foreign keys and triggers do nothing"],
  fsync: [/^on$/, LOSES],
  full_page_writes: [/^on$/, LOSES],
  synchronous_commit: [/^(?!off$)/, LOSES],
};

const MIGRATE =
  "Run `herald migrate` with the services' DATABASE_TIMEOUT_SECONDS, and with pgbouncer=true in its DATABASE_URL if they have it. " +
  "If it prints statements, run them as the owner of the database. A pooler's open connections keep what they had: let it connect again.";

interface SessionSetting extends Record<"name" | "setting" | "source" | "user" | "database", string> {
  hasTables: boolean;
}

export const sessionSettings: Check<DatabaseSubject> = {
  name: "sessions' settings",
  async examine({ session, statementTimeoutMs, preparesStatements }) {
    // A path may be written in many ways: what counts is where it leads, which the check of the server says.
    const { search_path: _, ...defaults } = databaseDefaults({ statementTimeoutMs, preparesStatements });
    // A database without tables gets its defaults with them.
    const found = await session.query<SessionSetting>(
      `select name, setting, source,
         quote_ident(current_user) as user, quote_ident(current_database()) as database,
         to_regclass('public.due') is not null as "hasTables"
       from pg_settings where name = any($1::text[])`,
      [Object.keys({ ...SESSION_SETTINGS, ...defaults })],
    );
    return found.flatMap((each) => {
      const { name, setting, source, hasTables } = each;
      const [right, otherwise] = SESSION_SETTINGS[name] ?? [];
      if (right && !right.test(setting))
        return [fault(`${name} is ${setting}: ${otherwise}.`, resetOf(name, each.source, each))];
      const wanted = (hasTables && defaults[name as keyof typeof defaults]) || setting;
      if (wanted === setting) return [];
      const what = `${name} is ${setting} and not ${wanted}, so statements take longer, end too early, or have no limit.`;
      return [warning(what, source.includes("user") ? resetOf(name, source, each) : MIGRATE)];
    });
  },
};

/** The size of the largest event: PostgreSQL needs room on its disk for this many bytes. */
const WRITTEN_BYTES = 256 * 1024;
const DISK_FULL = "53100";

/** Writes a row and takes it back, and commits, as each event does. */
export const commit: Check<DatabaseSubject> = {
  name: "a commit",
  async examine({ session, openSession }) {
    const writing = await openSession();
    try {
      await writing.query("begin");
      const [server] = await writing.query<{ pid: number }>("select pg_backend_pid() as pid");
      const written = write(writing).then(
        () => "written" as const,
        (error: unknown) => ({ error }),
      );
      const result = await within(ANSWER_MS, written, "hangs" as const);
      if (result === "written") return [];
      if (result === "hangs") return await hanging(session, server?.pid);
      const state = sqlStateOf(result.error);
      // Why it is so, other checks say.
      if (state === READ_ONLY) return skipped("Nothing can be written.");
      if (state !== DISK_FULL) throw result.error;
      return fault(
        `PostgreSQL's disk is full: ${reasonOf(result.error)}.`,
        "Make room on PostgreSQL's server. docs/operating/sizing.md says how much a day takes; RETENTION_DAYS keeps fewer.",
      );
    } finally {
      await writing.close();
    }
  },
};

async function write(session: Session): Promise<void> {
  await session.query("savepoint before");
  await session.query(
    "insert into public.process (id, service, facts) values (gen_random_uuid(), 'doctor', to_jsonb($1::text))",
    [randomBytes(WRITTEN_BYTES).toString("base64")],
  );
  // The commit is written down all the same, and waits for disk and standby.
  await session.query("rollback to savepoint before");
  await session.query("commit");
}

async function hanging(session: Session, pid: number | undefined): Promise<Finding | Finding[]> {
  const held = await locks.examine({ session });
  const [found] = await session.query<{ wait: string | null }>(
    `select concat_ws(' ', wait_event_type, wait_event) as wait, pg_cancel_backend(pid) from pg_stat_activity where pid = $1`,
    [pid],
  );
  const wait = found?.wait ?? "";
  if (wait.includes("SyncRep")) {
    return fault(
      "A commit does not end: it waits for a standby of synchronous_standby_names that does not answer, and so does all that Herald writes.",
      "Start that standby. To go on without it, as an administrator: `alter system reset synchronous_standby_names` and `select pg_reload_conf()`",
    );
  }
  if (wait.startsWith("Lock ")) return held;
  return fault(
    `A row was not written within ${ANSWER_MS / 1_000} s: PostgreSQL waits for ${wait || "itself"}.`,
    "The server's disk is too slow, or it is overloaded.",
  );
}

const FOLLOW_A_TIME_SERVER = "Have both follow a time server (chrony, systemd-timesyncd); check with: timedatectl";
const ahead = (seconds: number) => `${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"}`;

export const clocks: Check<DatabaseSubject> = {
  name: "clocks",
  async examine({ session, machineClock }) {
    const [row] = await session.query<{ ms: string }>("select extract(epoch from clock_timestamp()) * 1000 as ms");
    const aheadSeconds = Math.round((machineClock.now().getTime() - Number(row?.ms)) / 1_000);
    const what = `This machine's clock is ${ahead(aheadSeconds)} PostgreSQL's, which Herald goes by.`;
    if (Math.abs(aheadSeconds) < FAR_OFF_SECONDS) return ok(what);
    return warning(`${what} Logs bear this machine's time, and certificates are judged by it.`, FOLLOW_A_TIME_SERVER);
  },
};

/** Publishers make eight days ahead, and look all the time. */
const FEW_DAYS = 4;

/** `gaps` are partitions that one table of the history lacks and another one has: the statement makes or attaches it. */
export const partitions = asked<{ all: number; ahead: number; gaps: { partition: string; statement: string }[] }>(
  "partitions",
  `with part as (
     select (select relname from pg_class where oid = inhparent) as parent, right(relname, 9) as suffix, pg_get_expr(relpartbound, pg_class.oid) as bound
     from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent in (select partrelid from pg_partitioned_table) and relnamespace = to_regnamespace('public') and relkind = 'r'
   ), gap as (
     select parent || suffix as partition, case
         when to_regclass('public.' || parent || suffix) is null then format('create table %s%s partition of %1$s %3$s', parent, suffix, bound)
         else format('alter table %s attach partition %1$s%s %s', parent, suffix, bound)
       end as statement
     from (select distinct parent from part) as parents, (select distinct suffix, bound from part) as days
     where not exists (select from part where (part.parent, part.suffix) = (parents.parent, days.suffix))
     order by suffix limit 3
   )
   select count(*)::int as all, ${daysAhead("now()")} as ahead, (select coalesce(json_agg(gap), '[]') from gap) as gaps
   from ${PARTITIONS_OF_HISTORY} as partition`,
  ([{ all, ahead, gaps } = { all: 0, ahead: 0, gaps: [] }]) => {
    const findings: Finding[] = gaps.map(({ partition, statement }) =>
      fault(
        `The partition ${partition} is missing: nothing of its day can be stored, or found.`,
        `As the owner of the tables: \`${statement}\``,
      ),
    );
    const remedy =
      "Start a publisher, which makes them, and read its log. Its user has to be allowed to execute make_partitions(date, date).";
    if (all > 0 && ahead === 0)
      findings.push(fault("No day ahead has partitions: from midnight in UTC on nothing can be stored.", remedy));
    else if (all > 0 && ahead < FEW_DAYS)
      findings.push(warning(`Only ${plural(ahead, "day")} ahead ${ahead === 1 ? "has" : "have"} partitions.`, remedy));
    return findings;
  },
);

/** As many statements that read the whole history may run at once. */
const AT_ONCE = 10;

export const locksRoom = asked<{ room: number; connections: number; partitions: number }>(
  "room for locks",
  `select current_setting('max_locks_per_transaction')::int
       * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) as room,
     current_setting('max_connections')::int as connections, count(*)::int as partitions
   from ${PARTITIONS_OF_HISTORY} as partition`,
  (rows) =>
    rows.flatMap(({ room, connections, partitions }) => {
      const most = partitions * LOCKS_A_PARTITION;
      if (room >= most * AT_ONCE) return [];
      const wanted = Math.ceil((most * AT_ONCE) / connections);
      return [
        warning(
          `PostgreSQL has room for ${room} locks. A search over all ${partitions} partitions takes up to ${most}, so that few run at once.`,
          `\`alter system set max_locks_per_transaction = ${wanted}\`, and restart PostgreSQL.`,
        ),
      ];
    }),
);

const OF_KEYS =
  "Put the private key of that pair into SECRET_KEYS of all dispatchers, or give the management API the SECRET_SEALING_KEY that was made with theirs. " +
  "If it is this environment's alone, run the doctor with the services' settings.";
const OF_AUTHORITIES =
  "Bring the same file to all of them. Services read it again within a minute, and need no restart.";

/** How the living processes and this environment differ. */
export const differencesFrom = (living: readonly Process[], facts: Facts): Difference[] =>
  differencesOf([{ id: "", service: "this", name: "environment", facts }, ...living]);

/** Old processes, which run beside new ones for a while, may differ from them and from this environment. */
export const settingsAlike = asked<Process>("processes' settings", LIVING, (living, { facts }) =>
  differencesFrom(living, facts).map(({ what, of }) => {
    if (of === "keys") return fault(what, OF_KEYS);
    if (of === "authorities") return warning(what, OF_AUTHORITIES);
    return warning(what, "Give all of them the right value, and restart those that have another one.");
  }),
);

export const servicesAtWork = asked<Heard>("services at work", HEARD, (heard) => [
  ...heard.flatMap(({ service, name, trouble, silentSeconds }) => {
    const who = `The ${service} ${name}`;
    if (silentSeconds > SILENT_SECONDS) {
      const what = `${who} has said nothing for ${silentSeconds} s: it ended without a word, or does not reach PostgreSQL.`;
      return [warning(what, "Ask again in a minute. If it still says so, read its log, and start it.")];
    }
    const { notReady, clockAheadSeconds = 0, linesLost = 0 } = trouble;
    return warningsOf([
      [
        notReady !== undefined,
        `${who} is not ready: ${notReady}.`,
        "If it has just started, ask again. Otherwise read its log, which says why.",
      ],
      [
        clockAheadSeconds !== 0,
        `${who} has a clock that is ${ahead(clockAheadSeconds)} PostgreSQL's.`,
        FOLLOW_A_TIME_SERVER,
      ],
      [
        linesLost > 0,
        `${who} has lost ${plural(linesLost, "line")} of its log, which standard output did not take.`,
        "Make room where the log goes, or start what reads it. It says so until it is restarted.",
      ],
    ]);
  }),
  ...lacking(heard.flatMap(({ service, silentSeconds }) => (silentSeconds > SILENT_SECONDS ? [] : service))),
]);

/** Warns of a service without a process while others have one: before the first start there is none. {@link dispatching} knows sooner of dispatchers. */
function lacking(atWork: readonly string[]): Finding[] {
  const lacks = (service: ServiceName) => atWork.length > 0 && !atWork.includes(service);
  const remedy = "Start it. If it ends again, its log says why.";
  return warningsOf([
    [lacks("publisher"), "No publisher is at work, so no event is stored: they wait in RabbitMQ.", remedy],
    [lacks("management-api"), "No management API is at work, so neither the API nor the page answers.", remedy],
  ]);
}

/** {@link DISPATCHING}, and how many other services are at work: before the first start there are none, and nothing has to be attempted. */
const DISPATCHING_AND_OTHERS = `
  select dispatching.*, (select count(*) from (${LIVING}) as living where service <> 'dispatcher')::int as others
  from (${DISPATCHING}) as dispatching`;

export const dispatching = asked<Dispatching & { others: number }>("dispatching", DISPATCHING_AND_OTHERS, (rows) => {
  const { stoppedSince, shardsStopped, dispatchersUnable, shardsUnowned, dispatchersAble, others } = oneRow(rows);
  const unowned = `${shardsUnowned} of ${SHARDS} shards have no owner`;
  const isNone = dispatchersAble + dispatchersUnable === 0;
  return warningsOf([
    [
      stoppedSince !== null,
      `Dispatching is stopped since ${stoppedSince?.toISOString()}: no attempt begins in ${shardsStopped} of ${SHARDS} shards.`,
      "When it is done what it was stopped for, such as closing the gap of a restore: `herald dispatch start`",
    ],
    [
      isNone && shardsUnowned > 0 && others > 0,
      `No dispatcher is at work, so no attempt begins: ${unowned}.`,
      "Start dispatchers. If they end again, their logs say why.",
    ],
    [
      dispatchersUnable > 0 || (shardsUnowned > 0 && dispatchersAble > 0),
      `${plural(dispatchersUnable, "dispatcher")} can make no attempts, and ${unowned}.`,
      "Ask again: shards are taken within seconds. Otherwise read the dispatchers' logs: they reach no receiver, or lack a key.",
    ],
  ]);
});
