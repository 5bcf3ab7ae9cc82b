import { setTimeout as sleep } from "node:timers/promises";
import type { Explanation } from "../security/connection-fault.ts";
import { addressOf, Client, preparesStatements } from "./client.ts";
import { applyDefaults, databaseDefaults } from "./database-defaults.ts";
import { DATABASE_INFO, type DatabaseInfo, ownershipFault, unfitFault } from "./database-info.ts";
import { type Migration, migrationsFault, migrationsFolder, NO_TRANSACTION, readMigrations } from "./migrations.ts";
import { grantRights } from "./rights.ts";

export interface MigrationResult {
  /** Names of the migrations that this call applied; empty when the database was up to date. */
  applied: string[];
  /** Herald's users in PostgreSQL, which have the rights that they need now; absent if there are none, as in development. */
  granted?: readonly string[];
  /** Statements that this user may not run and the database's owner has to; absent if there are none. */
  leftToOwner?: readonly string[];
}

/** The number of the lock that Prisma's engine takes, so that `prisma migrate deploy` and Herald never migrate at the same time. */
const MIGRATION_LOCK = 72_707_369;
const LOCK_INTERVAL_MS = 100;
const CONNECT_TIMEOUT_MS = 10_000;

/** The longest wait for a lock, since other statements wait behind it. Within PostgreSQL's `deadlock_timeout`, so that no deadlock ends one of them. */
const TABLE_LOCK_TIMEOUT_MS = 200;
const TABLE_LOCK_INTERVAL_MS = 1_000;
const LOCK_NOT_AVAILABLE = "55P03";

/** Migrations lift the database's own limits, which are meant for the services' statements, and make all in one schema, whatever the user's path is. */
const BEGIN =
  "begin isolation level read committed; set local statement_timeout = 0; set local search_path = public, pg_temp; " +
  `set local lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`;

const CREATE_TABLE = `create table if not exists public._prisma_migrations (
  id varchar(36) primary key not null,
  checksum varchar(64) not null,
  finished_at timestamptz,
  migration_name varchar(255) not null,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz not null default now(),
  applied_steps_count integer not null default 0
)`;

/**
 * Brings a database's schema up to date: applies the files of `prisma/migrations` that it does not have yet, and records
 * them in `_prisma_migrations` as `prisma migrate deploy` does, which can be used beside it. Several processes may call
 * this at once: one applies, the others wait for it and find nothing to do. Then it gives Herald's users their rights
 * (`grantRights`) and the database its defaults (`databaseDefaults`).
 *
 * A file and its record are one transaction. A process that dies in the middle leaves nothing of them, and the next call
 * applies the file. If others hold a lock that it needs, it steps back and tries again each second, for as long as that takes.
 * @param url of a PostgreSQL 15 or newer; its user must own the schema. Through a pooler of transactions
 * files that run outside a transaction are refused
 * @param options.statementTimeoutMs for the services' statements; migrations may take any time
 * @throws when the server is too old or its database unfit, when the tables belong to another user, when a migration fails, and when the recorded migrations are not those of the folder
 */
export async function migrate(
  url: string,
  options: {
    folder?: string;
    caFile?: string | undefined;
    statementTimeoutMs?: number;
    onProgress?: (text: string) => void;
  } = {},
): Promise<MigrationResult> {
  const { folder = migrationsFolder(), caFile, statementTimeoutMs, onProgress = () => {} } = options;
  const migrations = readMigrations(folder);
  const client = openClient(url, caFile);
  const holder = openClient(url, caFile);
  await client.connect();
  try {
    assertNone(unfitFault(await readInfo(client)));
    onProgress("waiting for another migration");
    await holder.connect();
    const assertHeld = await acquireLock(holder);
    // Another migration may have made the tables while this one waited.
    const info = await readInfo(client);
    if (info.owner === null) {
      assertNone(ownershipFault(info));
      await client.query(CREATE_TABLE);
    }
    const { pending, isNew } = await findPending(client, migrations);
    if (pending.length > 0) assertNone(ownershipFault(info));
    for (const migration of pending) {
      onProgress(`applying ${migration.name}`);
      for (;;) {
        assertHeld();
        if (await apply(client, migration, { isNew })) break;
        onProgress(`waiting for a lock that ${migration.name} needs`);
        await sleep(TABLE_LOCK_INTERVAL_MS);
      }
    }
    // A failure ends the connection, and with it the transaction.
    await client.query(BEGIN);
    const granted = await grantRights(client);
    await client.query("commit");
    const defaults = databaseDefaults({ statementTimeoutMs, preparesStatements: preparesStatements(url) });
    const leftToOwner = await applyDefaults(client, defaults);
    await holder.query("rollback");
    return {
      applied: pending.map(({ name }) => name),
      ...(granted.length > 0 && { granted }),
      ...(leftToOwner.length > 0 && { leftToOwner }),
    };
  } finally {
    // PostgreSQL releases the lock with its connection, also when this process dies.
    await Promise.all([client.end(), holder.end()]);
  }
}

/** A migration may take any time. A server that is gone is noticed by TCP within half a minute. */
function openClient(url: string, caFile: string | undefined): Client {
  return new Client({
    ...addressOf(url, caFile),
    application_name: "herald-migrate",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: CONNECT_TIMEOUT_MS,
  });
}

async function readInfo(client: Client): Promise<DatabaseInfo> {
  const { rows } = await client.query<DatabaseInfo>(DATABASE_INFO);
  return rows[0] as DatabaseInfo;
}

function assertNone(fault: Explanation | undefined): void {
  if (fault) throw new Error(`${fault.what} ${fault.remedy}`);
}

/**
 * Takes an advisory lock of a transaction, on a connection of its own. A lock of a session fails behind a pooler: the next transaction may have another
 * connection to the server, and the lock stays on the one before.
 *
 * A process without the lock does not wait for it within a transaction. It tries again, each time in a new one: `create index concurrently` waits for
 * every transaction that has a snapshot, and would wait for that process. The transaction that has the lock runs nothing more, and has no snapshot. Its
 * rollback releases the lock.
 * @returns a function that throws if the connection that holds the lock broke
 */
async function acquireLock(client: Client): Promise<() => void> {
  let isLost = false;
  client.once("end", () => {
    isLost = true;
  });
  for (;;) {
    await client.query(`${BEGIN}; set local idle_in_transaction_session_timeout = 0`);
    // Without a parameter: a statement that has one keeps its snapshot until the transaction's next statement.
    const { rows } = await client.query(`select pg_try_advisory_xact_lock(${MIGRATION_LOCK}) as acquired`);
    if (rows[0].acquired) break;
    await client.query("rollback");
    await sleep(LOCK_INTERVAL_MS);
  }
  return () => {
    if (isLost) throw new Error("The connection that kept other migrations away broke. Run the migration again.");
  };
}

/** The migrations that the database does not have yet, and whether it has none at all. Records of a newer Herald's migrations are left alone. */
async function findPending(
  client: Client,
  migrations: readonly Migration[],
): Promise<{ pending: Migration[]; isNew: boolean }> {
  const { rows } = await client.query<{ name: string; checksum: string; finished: boolean; logs: string | null }>(
    `select migration_name as name, checksum, finished_at is not null as finished, logs
     from public._prisma_migrations where rolled_back_at is null`,
  );
  for (const { name, finished, logs } of rows) {
    if (finished) continue;
    throw new Error(
      `Migration ${name} failed, or was cut off${logs ? ` (${logs.trim()})` : ""}, and may have left a part of ` +
        "itself. Undo that part by hand. Then have it applied again: update _prisma_migrations set rolled_back_at = now() " +
        `where migration_name = '${name}' and finished_at is null`,
    );
  }
  const isApplied = ({ name }: Migration) => rows.some((row) => row.name === name);
  assertNone(migrationsFault(migrations.filter(isApplied), rows));
  return { pending: migrations.filter((each) => !isApplied(each)), isNew: rows.length === 0 };
}

/**
 * Applies a migration. Returns false, and has done nothing, where other transactions hold a lock that it needs.
 * @param isNew the database had no migration before: an index of an empty table is built in a transaction, which works through a pooler too
 */
async function apply(
  client: Client,
  { name, sql: text, checksum }: Migration,
  { isNew }: { isNew: boolean },
): Promise<boolean> {
  const inTransaction = isNew || !text.startsWith(NO_TRANSACTION);
  const sql = isNew ? text.replaceAll(/ concurrently\b/gi, "") : text;
  const started =
    "insert into public._prisma_migrations (id, checksum, migration_name) values (gen_random_uuid(), $1, $2)";
  const ended = "where migration_name = $1 and finished_at is null and rolled_back_at is null";
  if (!inTransaction) await liftTimeout(client, name);
  try {
    if (inTransaction) await client.query(BEGIN);
    await client.query(started, [checksum, name]);
    await client.query(sql);
    await client.query(
      `update public._prisma_migrations set finished_at = clock_timestamp(), applied_steps_count = 1 ${ended}`,
      [name],
    );
    if (inTransaction) await client.query("commit");
    return true;
  } catch (cause) {
    const { message, code } = cause as Error & { code?: string };
    if (inTransaction) {
      await client.query("rollback").catch(() => {});
      if (code === LOCK_NOT_AVAILABLE) return false;
      throw new Error(`Migration ${name} failed and was rolled back: ${message}`, { cause });
    }
    await client.query(`update public._prisma_migrations set logs = $2 ${ended}`, [name, message]).catch(() => {});
    throw new Error(`Migration ${name} failed and may have left a part of itself: ${message}`, { cause });
  }
}

/** For the rest of the session, so that it has to be one of PostgreSQL's own. @throws where a pooler could give the next statement another session */
async function liftTimeout(client: Client, name: string): Promise<void> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  if (rows[0]?.pid !== client.serverProcessId) {
    throw new Error(
      `Migration ${name} runs outside a transaction, and a pooler stands before PostgreSQL. Point DATABASE_URL at PostgreSQL itself ` +
        "for herald migrate.",
    );
  }
  await client.query("set statement_timeout = 0; set search_path = public, pg_temp");
}
