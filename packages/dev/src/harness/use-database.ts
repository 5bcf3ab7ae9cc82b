import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Prisma, PrismaClient } from "@herald/common/database/generated/client";
import { type Database, type DatabaseOptions, openDatabase } from "@herald/common/database/open-database";
import type { Queries } from "@herald/common/database/queries";
import { afterAll, beforeAll } from "@jest/globals";
import { startPgbouncer } from "../stack/pgbouncer.ts";
import { askForPostgres, askForProgram, STACK_TIMEOUT_MS } from "./stack-client.ts";
import { cloneDatabase, dropDatabase } from "./template-database.ts";

/** Whether POSTGRES_POOLER asks for tests through a pooler of transactions. */
export function isPoolerAsked(): boolean {
  const { POSTGRES_POOLER } = process.env;
  if (POSTGRES_POOLER === "pgbouncer") return true;
  if (!POSTGRES_POOLER) return false;
  throw new Error(`POSTGRES_POOLER is "${POSTGRES_POOLER}". It can be pgbouncer; without it, tests have no pooler.`);
}

export type TestPooler = Awaited<ReturnType<typeof startTestPooler>>;

/** Starts a PgBouncer of transactions. Debian's 1.18 keeps no prepared statements, so its URL is for clients that prepare nothing under a name. */
export async function startTestPooler(databaseUrl: string) {
  const { executable } = await askForProgram("pgbouncer");
  const folder = mkdtempSync(join(tmpdir(), "herald-pooler-"));
  const pgbouncer = await startPgbouncer(executable, { folder, databaseUrl });
  const url = new URL(pgbouncer.url);
  url.searchParams.set("pgbouncer", "true");
  return {
    url: url.href,
    async stop() {
      await pgbouncer.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface TestDatabase {
  /** The URL of this test file's own database, through a pooler if POSTGRES_POOLER asks for one. */
  readonly url: string;
  readonly database: Database;
}

export interface TestDatabaseOptions extends DatabaseOptions {
  /** False for a database without any table. */
  migrated?: boolean;
  /** False where the history has no partitions yet, as a migrated database: where the test is about them. Else one takes rows of any time. */
  partitioned?: boolean;
}

/**
 * Gives a test file a migrated, empty PostgreSQL database of its own. Call it at the top of the file or of a `describe`;
 * its fields may be read in hooks and tests.
 *
 * Afterwards it closes `database` and fails where other connections were left open.
 */
export function useDatabase({
  migrated = true,
  partitioned = migrated,
  ...options
}: TestDatabaseOptions = {}): TestDatabase {
  const name = `herald_test_${randomBytes(6).toString("hex")}`;
  let made: { serverUrl: string; url: string; database: Database } | undefined;
  let pooler: TestPooler | undefined;

  beforeAll(async () => {
    const { serverUrl, template } = await askForPostgres();
    const direct = await cloneDatabase(serverUrl, migrated ? template : "template0", name, {
      statementTimeoutMs: options.statementTimeoutMs,
      preparesStatements: !isPoolerAsked(),
    });
    if (isPoolerAsked()) pooler = await startTestPooler(direct);
    const url = pooler?.url ?? direct;
    made = { serverUrl, url, database: openDatabase(url, options) };
    // Prisma imports its query compiler with the first query, and jest refuses imports between a hook and the next one.
    await made.database.ping();
    if (partitioned) await made.database.queries.$queryRaw`select make_partitions('1970-01-01', '2200-01-01')`;
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    if (made === undefined) return;
    await made.database.close();
    // Its connections would be taken for those that a test left open.
    await pooler?.stop();
    const left = await dropDatabase(made.serverUrl, name);
    if (left.length > 0) {
      throw new Error(
        `${left.length} connections to the test database were left open: ${left.join(", ")}. Close them.`,
      );
    }
  });

  const ready = () => {
    if (made === undefined)
      throw new Error("The test database exists from beforeAll on, not while the file is loaded.");
    return made;
  };
  return {
    get url() {
      return ready().url;
    },
    get database() {
      return ready().database;
    },
  };
}

/** Queries whose statements PostgreSQL cancels after so many milliseconds, also while they wait for a lock. */
export function impatient({ prisma, queries }: Database, milliseconds: number): Queries {
  return {
    ...queries,
    $queryRaw: async <T>(strings: TemplateStringsArray, ...values: unknown[]) =>
      await prisma.$transaction(async (transaction) => {
        await transaction.$executeRawUnsafe(`set local statement_timeout = ${milliseconds}`);
        return await transaction.$queryRaw<T>(strings, ...values);
      }),
  };
}

/** Acts while another transaction holds what a statement locks. */
export async function whileLocked(
  prisma: PrismaClient,
  statement: Prisma.Sql,
  act: () => Promise<unknown>,
): Promise<void> {
  const holding = async (transaction: Pick<PrismaClient, "$executeRaw">) => {
    await transaction.$executeRaw(statement);
    await act();
  };
  await prisma.$transaction(holding, { timeout: 100_000 });
}

/** How many statements of this test's database wait for a lock. */
export async function lockWaiters(prisma: PrismaClient): Promise<number> {
  const [row] = await prisma.$queryRaw<{ count: number }[]>`
    select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return row?.count ?? 0;
}
