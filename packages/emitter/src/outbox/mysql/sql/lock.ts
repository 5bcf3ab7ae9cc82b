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
