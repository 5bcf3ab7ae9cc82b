import type { EmittedEvent } from "../emitted-event.ts";
import type { EmitOptions } from "../emitter.ts";
import { encodeEvent } from "../encode-event.ts";
import { DEFAULT_OUTBOX_TABLE, quoted } from "./table.ts";

/** Runs a statement with `$1` placeholders: a `pg` client, or a few lines around another driver. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

export interface Outbox {
  /**
   * Writes an event into the caller's transaction: it is emitted if and only if that commits. Then a relay sends it.
   *
   * @param client the connection on which the caller has begun the transaction
   * @throws InvalidEventError where it breaks the contract; nothing was written, and the transaction can go on
   */
  add(client: Queryable, event: EmittedEvent, options?: EmitOptions): Promise<void>;
}

/**
 * An outbox for events that are emitted if and only if a business transaction commits, even where a process crashes in
 * between. A relay sends the events in the table.
 */
export function createOutbox({ table = DEFAULT_OUTBOX_TABLE } = {}): Outbox {
  const insert = `insert into ${quoted(table)} (event, traceparent) values ($1, $2)`;
  return {
    add: async (client, event, { traceparent } = {}) => {
      await client.query(insert, [encodeEvent(event).toString(), traceparent ?? null]);
    },
  };
}
