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
