import pg from "pg";
import { retry } from "../runtime/repeat.ts";
import type { Log } from "../telemetry/log.ts";
import { isDataError, isPlanOutdated, isSerializationFailure, isTooMuch, withRemedy } from "./errors.ts";
import { Prisma } from "./generated/client.ts";
import { textOf } from "./parameters.ts";
import type { StatementFailures } from "./statement-failures.ts";

/**
 * The client that runs a statement of `sql/`: Prisma's client has these two, and so has {@link directQueries}. Placeholders are
 * Prisma's too: `${value}` is a parameter, `${Prisma.sql`...`}` a piece of the statement.
 */
export interface Queries {
  /** The rows, by the names of the statement's columns. */
  $queryRaw<T>(statement: TemplateStringsArray, ...values: unknown[]): Promise<T>;
  $executeRaw(statement: TemplateStringsArray, ...values: unknown[]): Promise<number>;
}

export type Reads = Pick<Queries, "$queryRaw">;

/** The row of a statement that returns just one, as a select of aggregates does. */
export function oneRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error("PostgreSQL answered a select with no row.");
  return row;
}

/** How often a statement is run, at most: another one may overtake it, and each connection may have an outdated plan. */
const MAX_TRIES = 20;

/** Runs a statement, a transaction of its own, again if it was overtaken or had an outdated plan. It has changed nothing then. */
async function inTries<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      if (!(isSerializationFailure(error) || isPlanOutdated(error)) || tries === MAX_TRIES) throw error;
    }
  }
}

/** Runs a statement until PostgreSQL answers. Logs these words once while it waits. @throws an error that another try can't mend */
export function untilAnswered<T>(
  { log, signal }: { log: Log; signal: AbortSignal },
  words: string,
  statement: () => Promise<T>,
  isFinal = (error: unknown) => isDataError(error) || isTooMuch(error),
): Promise<T> {
  return retry(statement, {
    shouldRetry: (error) => !isFinal(error),
    onFirstFailure: (error) => log.error(withRemedy(words, error), { error }),
    signal,
  });
}

function statementOf(strings: TemplateStringsArray, given: unknown[], statementName: (text: string) => string) {
  const { text, values } = Prisma.sql(strings, ...given);
  return { name: statementName(text), text, values: values.map(textOf), types: TYPES };
}

/**
 * Statements directly to PostgreSQL. Prisma's raw queries take the same text and return the same rows, but write every value
 * as JSON for Prisma's query compiler first, which a process without other queries does not need at all: see docs/adr/README.md (13).
 */
export function directQueries(
  pool: pg.Pool,
  statementName: (text: string) => string,
  watch: StatementFailures["watch"] = (_, run) => run(),
): Queries {
  async function run(strings: TemplateStringsArray, values: unknown[]): Promise<pg.QueryResult> {
    const statement = statementOf(strings, values, statementName);
    // The pool closes a connection that has failed.
    return await inTries(() => watch(statement.text, () => pool.query(statement)));
  }
  return {
    $queryRaw: async <T>(strings: TemplateStringsArray, ...values: unknown[]) => (await run(strings, values)).rows as T,
    $executeRaw: async (strings, ...values) => (await run(strings, values)).rowCount ?? 0,
  };
}

/**
 * Like {@link directQueries}, for reads that must end soon: each runs in a transaction of its own, which may change nothing, and in which PostgreSQL
 * ends a statement after `timeoutMs`. A limit for one transaction works behind any pooler of connections. A statement can't set its
 * own limit: `set_config` counts from the next one on.
 */
export function boundedReads(pool: pg.Pool, statementName: (text: string) => string, timeoutMs: number): Reads {
  const begin = `begin read only; set local statement_timeout = ${timeoutMs}`;
  return {
    async $queryRaw<T>(strings: TemplateStringsArray, ...values: unknown[]) {
      const statement = statementOf(strings, values, statementName);
      return await inTries(async () => {
        const client = await pool.connect();
        let isUsable = false;
        try {
          await client.query(begin);
          const { rows } = await client.query(statement);
          await client.query("rollback");
          isUsable = true;
          return rows as T;
        } finally {
          // As pg's pool does after an error: a transaction may be open, or a prepared statement of no more use.
          client.release(!isUsable);
        }
      });
    },
  };
}

/**
 * An array parameter whose elements may be null. They are sent as `none`, which no other element is: if the user has `array_nulls` off, PostgreSQL
 * reads a NULL in an array as the text "NULL".
 */
export function nullable<T>(items: readonly T[], read: (item: T) => unknown, type = "text", none = ""): Prisma.Sql {
  const elements = items.map((item) => read(item) ?? none);
  return Prisma.sql`array_replace(${elements}::${Prisma.raw(`${type}[], '${none}'`)}, null)`;
}

/** No work waits until a time that is further ahead: the longest lease is four times the longest DATABASE_TIMEOUT_SECONDS, 40 minutes. */
const FARTHEST_MS = 45 * 60_000;

/**
 * SQL for "a stored time of work is over". A time that is further ahead than any work waits is from before PostgreSQL's clock was set back, so it is
 * over too. Not for `infinity`, which is over as well by this.
 */
export const isOver = (time: Prisma.Sql, now: Date): Prisma.Sql =>
  Prisma.sql`(${time} <= ${now}::timestamptz or ${time} > ${new Date(now.getTime() + FARTHEST_MS)}::timestamptz)`;

/** Reads columns as Prisma does: a bigint may be larger than a number can hold. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8 && format !== "binary" ? BigInt : pg.types.getTypeParser(oid, format),
};
