/**
 * Makes the caller's connection the only one that sends from the table, or says that another one is. The lock ends with the connection,
 * if it is not released before. MySQL's locks are the whole server's, and their names are short: so the name is a hash of the table's, as the
 * server writes it. It gives no row where there is no such table, or where the user has no right to it.
 *
 * 1: the table's database, or null for the connection's. 2: the table.
 */
export const LOCK = `select get_lock(name, 0) as locked, name from (
  select concat('herald:', sha1(concat(table_schema, '.', table_name))) as name from information_schema.tables
  where table_schema = coalesce(?, database()) and table_name = ?
  limit 1
) as outbox`;

/** 1: the lock's name. */
export const RELEASE = "do release_lock(?)";

/**
 * The rows that wait behind a number, oldest first. Locks none of them: whoever reads them has the lock of the whole table. Walks the index of
 * states.
 *
 * 1: how many.
 *
 * @param after the number. It stands in the statement, since MySQL compares text with a number by rounding both
 */
export function waitingRows(table: string, after: string): string {
  return `select cast(number as char) as number, event, traceparent
from ${quoted(table)}
where state = 0 and number > ${BigInt(after)}
order by ${quoted(table)}.number
limit ?`;
}

/**
 * Writes down that the broker has confirmed rows. All of them get one time, so that they keep their order in the index of what was
 * sent. Locks these rows, which nobody else writes to while they wait.
 */
export function markSent(table: string, numbers: readonly string[]): string {
  return `update ${quoted(table)} set sent_at = utc_timestamp(6) where number in (${listOf(numbers)})`;
}

/**
 * Sets aside a row that can't be sent, with its reason. It stays until the service has repaired or deleted it.
 *
 * 1: the reason. 2: the row's number.
 */
export function setAside(table: string): string {
  return `update ${quoted(table)} set refused = ? where number = cast(? as signed)`;
}

// MySQL has no LIMIT in a subquery, and DELETE returns no rows: so a transaction first locks one step of rows, and then changes them. Both walk the
// index of what was sent from its left end. At READ COMMITTED that locks no gap, in which a service's INSERT would have to wait.

/**
 * One step of what was sent too long ago. Rows that another relay erases, or that a replay takes, are passed over.
 *
 * 1: for how many seconds they are kept. 2: how many at the most.
 */
export function sentBefore(table: string): string {
  return `select cast(number as char) as number from ${quoted(table)}
where sent_at < utc_timestamp(6) - interval ? second
order by sent_at, ${quoted(table)}.number
limit ?
for update skip locked`;
}

/**
 * One step of what was sent within a time, the earliest first. For a row that is just being erased it waits, and then passes over it.
 *
 * 1: from when on. 2: until when, exclusively, so that what is sent meanwhile is not taken again. 3: how many at the most.
 */
export function sentWithin(table: string): string {
  return `select cast(number as char) as number from ${quoted(table)}
where sent_at >= ? and sent_at < ?
order by sent_at, ${quoted(table)}.number
limit ?
for update`;
}

export function erase(table: string, numbers: readonly string[]): string {
  return `delete from ${quoted(table)} where number in (${listOf(numbers)})`;
}

/** Makes rows wait again. */
export function replay(table: string, numbers: readonly string[]): string {
  return `update ${quoted(table)} set sent_at = null where number in (${listOf(numbers)})`;
}

/**
 * Numbers of rows, as they stand in a statement. As parameters they would make a prepared statement of each length of the list, and a
 * server keeps some thousands of those at the most.
 *
 * @throws SyntaxError for anything that is no number
 */
function listOf(numbers: readonly string[]): string {
  return numbers.map(BigInt).join(",");
}

/**
 * What waits, since when the oldest of it does, in microseconds, and what was set aside. Counts end at the parameters, so that it stays cheap where
 * millions wait. Walks the index of states; locks nothing.
 *
 * 1 and 2: where counts end.
 */
export function outboxLag(table: string): string {
  const name = quoted(table);
  return `select
  (select count(*) from (select 1 from ${name} where state = 0 limit ?) as counted) as waiting,
  (select timestampdiff(microsecond, added_at, utc_timestamp(6)) from ${name} where state = 0 order by number limit 1) as oldest,
  (select count(*) from (select 1 from ${name} where state = 2 limit ?) as counted) as refused`;
}

/**
 * The table in MariaDB, 10.6 or later, and MySQL, 8.0.13 or later.
 *
 * MySQL has no partial indexes. So a generated column says what a row is, and an index of it finds what waits and what was set aside, in
 * the order of the rows. The column is stored: MariaDB's indexes on virtual ones have had faults. The time is UTC, whatever the
 * session's time zone is.
 */
export function mysqlTable(table: string): string {
  return `create table if not exists ${quoted(table)} (
  number bigint not null auto_increment primary key,
  -- Filled by the service, in its transaction: the event as JSON, and the W3C trace context, if there is one.
  event longtext not null,
  traceparent text,
  -- Filled by the database and by the relay; times in UTC.
  added_at datetime(6) not null default (utc_timestamp(6)),
  sent_at datetime(6),
  refused text,
  -- 0 waits, 1 was sent, 2 was set aside.
  state tinyint generated always as (case when refused is not null then 2 when sent_at is not null then 1 else 0 end) stored,
  key state (state, number),
  key sent (sent_at, number)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
`;
}

/** A table's name, with its database if it has one, as MySQL writes it in every mode. */
export function quoted(table: string): string {
  return table
    .split(".")
    .map((part) => `\`${part.replaceAll("`", "``")}\``)
    .join(".");
}
