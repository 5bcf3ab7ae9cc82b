export const DEFAULT_OUTBOX_TABLE = "herald_outbox";

/**
 * The table of an outbox in PostgreSQL 15 or later, with its indexes, in one text that can be run again; run it in a migration of the
 * product service's database. It is a contract: an event that any program writes into `event` and `traceparent` is emitted.
 *
 * `event` is text, since a JSON column changes how numbers are written and the order of members. The indexes hold each row once: the
 * waiting, the sent, the refused ones.
 *
 * @param table with its schema in front if that is not the connection's: `schema.table`
 */
export function outboxTable(table: string = DEFAULT_OUTBOX_TABLE): string {
  const index = (suffix: string) => quoted(`${table.split(".").at(-1)}_${suffix}`);
  const name = quoted(table);
  return `create table if not exists ${name} (
  number bigint generated always as identity primary key,
  -- Filled by the service, in its transaction: the event as JSON, and the W3C trace context, if there is one.
  event text not null,
  traceparent text,
  -- Filled by the database and by the relay.
  added_at timestamptz not null default now(),
  sent_at timestamptz,
  refused text
);
create index if not exists ${index("waiting")} on ${name} (number) where sent_at is null and refused is null;
create index if not exists ${index("sent")} on ${name} (sent_at, number) where sent_at is not null;
create index if not exists ${index("refused")} on ${name} (number) where refused is not null;
`;
}

/** A table's name, with its schema if it has one, as SQL writes it. */
export function quoted(table: string): string {
  return table
    .split(".")
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join(".");
}
