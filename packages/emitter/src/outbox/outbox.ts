import type { EmittedEvent } from "../emitted-event.ts";
import type { EmitOptions } from "../emitter.ts";
import { eventJson } from "../encode-event.ts";
import { DEFAULT_OUTBOX_TABLE, quoted } from "./table.ts";

/** Runs a statement with `$1` placeholders, as a client of `pg` or an EntityManager of TypeORM does. */
export interface StatementRunner {
  query(text: string, values?: unknown[]): Promise<unknown>;
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

/**
 * An outbox for events that are emitted if and only if a business transaction commits, even where a process crashes in
 * between. A relay sends the events in the table.
 */
export function createOutbox({ table = DEFAULT_OUTBOX_TABLE } = {}): Outbox {
  const insert = `insert into ${quoted(table)} (event, traceparent) values ($1, $2)`;
  return {
    add: async (client, event, { traceparent } = {}) => {
      await client.query(insert, [eventJson(event), traceparent ?? null]);
    },
  };
}
