import { callerTrace, traceLoading } from "../caller-trace.ts";
import type { EmitOptions } from "../emitter.ts";
import { type EmittedEvent, eventJson } from "../encode-event.ts";
import { DEFAULT_OUTBOX_TABLE, quoted } from "./outbox-table.ts";

/** Runs a statement with `$1` placeholders, as a client of `pg` or an EntityManager of TypeORM does. */
export interface StatementRunner {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

export interface PrismaTransaction {
  $executeRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

/** The transaction of Knex, and of Objection. */
export interface KnexTransaction {
  raw(text: string, values: readonly (string | null)[]): PromiseLike<unknown>;
  isCompleted(): boolean;
}

const INSERT = `insert into herald_outbox (event) values (\${eventJson(event)})`;

/** By a property that nothing else has: what would write outside of the transaction, then libraries of which a transaction needs another call. */
const REFUSED = {
  totalCount: "Give outbox.add the client that has begun the transaction: a pool writes outside of it",
  $connect: "Give outbox.add the tx of prisma.$transaction(async (tx) => ...): prisma itself writes outside of it",
  createQueryRunner:
    "Give outbox.add the manager of dataSource.transaction(async (manager) => ...), not the DataSource",
  $config: "Give outbox.add the t of db.tx(async (t) => ...): db itself writes outside of it",
  getQueryInterface:
    "For Sequelize write: await sequelize.query('insert into herald_outbox (event) values ($1)', { bind: [eventJson(event)], transaction })",
  executeQuery: `For Kysely write: await sql\`${INSERT}\`.execute(trx)`,
  selectDistinctOn: `For Drizzle write: await tx.execute(sql\`${INSERT}\`)`,
  unsafe: `For postgres.js write: await tx\`${INSERT}\``,
  oneFirst: `For Slonik write: await tx.query(sql.unsafe\`${INSERT}\`)`,
  getUnitOfWork:
    "For MikroORM write: await em.execute('insert into herald_outbox (event) values (?)', [eventJson(event)])",
} as const;

const KNEX_ITSELF = "Give outbox.add the trx of knex.transaction(async (trx) => ...): knex itself writes outside of it";
const UNKNOWN =
  "Give outbox.add the transaction of pg, TypeORM, Prisma or Knex; else insert eventJson(event) into herald_outbox yourself";
const NOT_BEGUN = "Give outbox.add a client, manager or QueryRunner whose transaction has begun: this one has none";

type Refusal<Given> = {
  [Property in keyof typeof REFUSED]: Given extends Record<Property, unknown> ? (typeof REFUSED)[Property] : never;
}[keyof typeof REFUSED];

/** The clients with which an outbox can write. For any other one the compiler shows a sentence, with what to write. */
export type OutboxTransaction<Given> = [Refusal<Given>] extends [never]
  ? Given extends StatementRunner | PrismaTransaction | KnexTransaction
    ? Given
    : Given extends { raw: unknown }
      ? typeof KNEX_ITSELF
      : typeof UNKNOWN
  : Refusal<Given>;

export interface Outbox {
  /**
   * Writes an event into the caller's transaction: it is emitted if and only if that commits. Then a relay sends it.
   *
   * @param client the connection on which the caller has begun the transaction, or the transaction of TypeORM, Prisma or Knex
   * @throws InvalidEventError if it breaks the contract; nothing was written, and the transaction can go on
   * @throws TypeError if what was given writes outside of any transaction, or can't write; nothing was written
   */
  add<Given>(client: Given & OutboxTransaction<Given>, event: EmittedEvent, options?: EmitOptions): Promise<void>;
}

export interface OutboxOptions {
  /** `herald_outbox` if absent; with its schema in front if that is not the connection's. */
  table?: string;
}

/**
 * An outbox for events that are emitted if and only if a business transaction commits, even if a process crashes in
 * between. A relay sends the events in the table.
 */
export function createOutbox({ table = DEFAULT_OUTBOX_TABLE }: OutboxOptions = {}): Outbox {
  const into = `insert into ${quoted(table)} (event, traceparent) values`;
  const insert = `${into} ($1, $2)`;
  return {
    add: async (client, event, options = {}) => {
      const given = client as Given;
      const refusal = refusalOf(given);
      if (refusal !== undefined) throw new TypeError(refusal);
      if (traceLoading()) await traceLoading();
      const values = [eventJson(event), callerTrace(options) ?? null];
      if (given.$executeRawUnsafe) await given.$executeRawUnsafe(insert, ...values);
      // Knex has a `query` too, which is for itself.
      else if (given.raw) await given.raw(`${into} (?, ?)`, values);
      else await given.query?.(insert, values);
    },
  };
}

type Given = Partial<PrismaTransaction & KnexTransaction & StatementRunner> & {
  isTransaction?: boolean;
  /** Of a client of pg: "I" outside of a transaction, as of the last statement, which has ended if it is `readyForQuery`. */
  getTransactionStatus?(): string | null;
  readyForQuery?: boolean;
  /** Of a QueryRunner of TypeORM, and of a manager's. */
  isTransactionActive?: boolean;
  queryRunner?: { isTransactionActive: boolean };
  /** Of a manager of TypeORM. */
  getTreeRepository?: unknown;
  /** Of a task of pg-promise. */
  ctx?: { isTX?: boolean };
};

/** Why the outbox can't write with it, also where the compiler saw nothing. */
function refusalOf(given: Given): string | undefined {
  const refused = Object.entries(REFUSED).find(
    ([property]) => (given as Record<string, unknown>)[property] !== undefined,
  );
  if (refused) return refused[1];
  if (given.$executeRawUnsafe) return undefined;
  if (given.raw) return given.isTransaction ? undefined : KNEX_ITSELF;
  if (!given.query) return UNKNOWN;
  const runner = given.getTreeRepository ? (given.queryRunner ?? { isTransactionActive: false }) : given;
  if (runner.isTransactionActive === false) return NOT_BEGUN;
  if (given.readyForQuery && given.getTransactionStatus?.() === "I") return NOT_BEGUN;
  return given.ctx?.isTX === false ? REFUSED.$config : undefined;
}
