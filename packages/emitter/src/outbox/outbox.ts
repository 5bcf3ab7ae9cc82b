import { callerTrace, traceLoading } from "../caller-trace.ts";
import type { EmittedEvent } from "../emitted-event.ts";
import type { EmitOptions } from "../emitter.ts";
import { eventJson } from "../encode-event.ts";
import { DEFAULT_OUTBOX_TABLE, quoted } from "./statements.ts";

/** Runs a statement with `$1` placeholders, as a client of `pg` or an EntityManager of TypeORM does. */
export interface StatementRunner {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

export interface PrismaTransaction {
  $executeRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

export interface KnexTransaction {
  raw(text: string, values: readonly (string | null)[]): PromiseLike<unknown>;
}

/** The clients with which an outbox can write. For any other client the compiler shows a sentence, with the call to use. */
export type OutboxTransaction<Given> = Given extends StatementRunner | PrismaTransaction | KnexTransaction
  ? Given
  : Given extends { executeQuery: unknown }
    ? "For Kysely write: await sql`insert into herald_outbox (event) values (${eventJson(event)})`.execute(trx)"
    : Given extends { execute: unknown; select: unknown }
      ? "For Drizzle write: await tx.execute(sql`insert into herald_outbox (event) values (${eventJson(event)})`)"
      : "Give the transaction of pg, TypeORM, Prisma or Knex; else insert eventJson(event) into herald_outbox yourself";

export interface Outbox {
  /**
   * Writes an event into the caller's transaction: it is emitted if and only if that commits. Then a relay sends it.
   *
   * @param client the connection on which the caller has begun the transaction, or the transaction of TypeORM, Prisma or Knex
   * @throws InvalidEventError if it breaks the contract; nothing was written, and the transaction can go on
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
      if (traceLoading()) await traceLoading();
      const values = [eventJson(event), callerTrace(options) ?? null];
      const given = client as Partial<PrismaTransaction & KnexTransaction & StatementRunner>;
      if (given.$executeRawUnsafe) await given.$executeRawUnsafe(insert, ...values);
      // Knex has a `query` too, which is for itself.
      else if (given.raw) await given.raw(`${into} (?, ?)`, values);
      else if (given.query) await given.query(insert, values);
      else
        throw new TypeError(
          "The outbox can't write with what it was given: give it the connection or the transaction, as its type says",
        );
    },
  };
}
