import type { EmittedEvent } from "../emitted-event.ts";
import type { EmitOptions } from "../emitter.ts";
import { eventJson } from "../encode-event.ts";
import { quoted as quotedInMysql } from "./mysql/table.ts";
import { quoted } from "./postgresql/table.ts";
import { DEFAULT_OUTBOX_TABLE, type Dialect } from "./table.ts";

/**
 * Runs a statement, with `$1` placeholders for PostgreSQL and `?` for MySQL, as a client of `pg`, a connection of `mysql2/promise` or an
 * EntityManager of TypeORM does. Where it can `execute`, MySQL gets a prepared statement.
 */
export interface StatementRunner {
  query(text: string, values?: unknown[]): Promise<unknown>;
  execute?(text: string, values?: (string | null)[]): Promise<unknown>;
}

export interface Outbox {
  /**
   * Writes an event into the caller's transaction: it is emitted if and only if that commits. Then a relay sends it.
   *
   * @param client the connection on which the caller has begun the transaction
   * @throws InvalidEventError where it breaks the contract; nothing was written, and the transaction can go on
   */
  add(client: StatementRunner, event: EmittedEvent, options?: EmitOptions): Promise<void>;
}

export interface OutboxOptions {
  /** `herald_outbox` where absent; with its schema in front where that is not the connection's. */
  table?: string;
  /** `postgresql` where absent; `mysql` is MariaDB too. */
  dialect?: Dialect;
}

/**
 * An outbox for events that are emitted if and only if a business transaction commits, even where a process crashes in
 * between. A relay sends the events in the table.
 */
export function createOutbox({ table = DEFAULT_OUTBOX_TABLE, dialect = "postgresql" }: OutboxOptions = {}): Outbox {
  const insert =
    dialect === "mysql"
      ? `insert into ${quotedInMysql(table)} (event, traceparent) values (?, ?)`
      : `insert into ${quoted(table)} (event, traceparent) values ($1, $2)`;
  return {
    add: async (client, event, { traceparent } = {}) => {
      const values = [eventJson(event), traceparent ?? null];
      if (dialect === "mysql" && client.execute) await client.execute(insert, values);
      else await client.query(insert, values);
    },
  };
}
