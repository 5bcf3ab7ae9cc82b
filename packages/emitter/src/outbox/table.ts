import { mysqlTable } from "./mysql/table.ts";
import { postgresqlTable } from "./postgresql/table.ts";

/** Which SQL a database speaks; `mysql` is MariaDB too. */
export type Dialect = "postgresql" | "mysql";

export const DEFAULT_OUTBOX_TABLE = "herald_outbox";

/**
 * The table of an outbox, with its indexes, in one text that can be run again; run it in a migration of the product service's database. It
 * is a contract: whatever fills `event` and `traceparent`, in any language, has its event emitted.
 *
 * `event` is text, since a JSON column writes numbers and the order of members anew.
 *
 * @param table with its schema, or MySQL's database, in front where that is not the connection's: `schema.table`
 * @param dialect PostgreSQL 15 or later, or MariaDB 10.6 and MySQL 8.0.13 or later
 */
export function outboxTable(table: string = DEFAULT_OUTBOX_TABLE, dialect: Dialect = "postgresql"): string {
  return dialect === "mysql" ? mysqlTable(table) : postgresqlTable(table);
}
