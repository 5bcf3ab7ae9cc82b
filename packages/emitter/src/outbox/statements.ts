/**
 * Makes the caller's transaction the only one that sends from the table, or says that another one is, and whether row-level security hides
 * all rows from its user. The lock is an advisory one and ends with the transaction, however that ends. Nothing else waits for it. A
 * transaction that holds it and has not written yet has no number, so it keeps no dead row of any table from being vacuumed.
 *
 * $1: the table, as SQL writes it. Fails if there is none.
 */
export const LOCK = `select pg_try_advisory_xact_lock(hashtextextended('herald outbox ' || $1::regclass::oid, 0)) as locked,
  row_security_active($1::regclass::oid) and not exists (
    select from pg_policy, unnest(polroles) as role
    where polrelid = $1::regclass and polcmd in ('r', '*') and (role = 0 or pg_has_role(role, 'usage'))
  ) as hidden`;

/**
 * The rows that wait behind a number, oldest first. Locks none of them: the reader has the lock of the whole table. Walks the index of
 * waiting rows from that number on.
 *
 * A service may have made `event` a column of type json.
 *
 * $1: how many. $2: the number.
 */
export function waitingRows(table: string): string {
  return `select outbox.number::text as number, event::text, traceparent
from ${quoted(table)} as outbox
where sent_at is null and refused is null and number > $2::bigint
order by outbox.number
limit $1`;
}

/**
 * Writes down that the broker has confirmed rows. All of them get one time, so that they keep their order in the index of sent
 * rows. Locks these rows, which no other transaction writes to while they wait.
 *
 * $1: their numbers.
 */
export function markSent(table: string): string {
  return `update ${quoted(table)} set sent_at = statement_timestamp() where number = any($1::bigint[]) returning 1`;
}

/**
 * Sets aside rows that can't be sent, each with its reason. They stay until the service has repaired or deleted them.
 *
 * $1: their numbers. $2: their reasons, in the same order.
 */
export function setAside(table: string): string {
  return `update ${quoted(table)} set refused = found.reason
from unnest($1::bigint[], $2::text[]) as found (row_number, reason)
where number = found.row_number returning 1`;
}

/**
 * Erases one step of the rows that were sent too long ago. Walks the index of sent rows from its left end. Rows that another relay erases, or
 * that a replay takes, are passed over.
 *
 * $1: for how many seconds they are kept. $2: how many at most.
 */
export function eraseSent(table: string): string {
  const name = quoted(table);
  return `delete from ${name} where number in (
  select number from ${name}
  where sent_at < statement_timestamp() - make_interval(secs => $1::float8)
  order by sent_at, number
  limit $2
  for update skip locked
) returning number::text`;
}

/**
 * Makes one step of rows that were sent within a time wait again, the earliest first. Walks the index of sent rows. Locks
 * these rows; for one that is just being erased it waits, and then passes over it.
 *
 * $1: the beginning. $2: the end, exclusively, so that rows that are sent from now on are not taken again. $3: how many at most.
 */
export function replaySent(table: string): string {
  const name = quoted(table);
  return `update ${name} set sent_at = null where number in (
  select number from ${name}
  where sent_at >= $1::timestamptz and sent_at < $2::timestamptz
  order by sent_at, number
  limit $3
  for update
) returning number::text`;
}

/**
 * The number of waiting rows, the age of the oldest, and the number of refused rows. Counts end at $1, so that it stays cheap if millions wait.
 * Walks the indexes of waiting and of refused rows from their left ends; locks nothing.
 */
export function outboxLag(table: string): string {
  const name = quoted(table);
  const waiting = `from ${name} where sent_at is null and refused is null`;
  return `select
  (select count(*) from (select 1 ${waiting} limit $1) as counted)::int as waiting,
  (select extract(epoch from statement_timestamp() - added_at)::float8 ${waiting} order by number limit 1) as "oldestSeconds",
  (select count(*) from (select 1 from ${name} where refused is not null limit $1) as counted)::int as refused`;
}

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
