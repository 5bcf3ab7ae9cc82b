import { useDatabase } from "@herald/dev/harness/use-database";
import { useMariadb } from "@herald/dev/harness/use-mariadb";
import { outboxTable } from "@herald/emitter/outbox";
import { createPool } from "mysql2/promise";
import pg from "pg";

/** A database with an outbox in it. */
export interface OutboxDatabase {
  url: string;
  /** With a schema in front. */
  table: string;
  /** Runs a statement with a value in the place of each `?`; its rows. */
  run(sql: string, values?: unknown[]): Promise<unknown[]>;
  close(): Promise<void>;
}

/** To be called at the top of a `describe`, after the hook that closes what was opened; opens it in a hook or test. */
type Use = () => () => Promise<OutboxDatabase>;

/** The databases that an outbox can be in, each real. */
export const OUTBOX_DATABASES: Record<string, Use> = {
  PostgreSQL: () => {
    const at = useDatabase({ migrated: false });
    return async () => {
      const pool = new pg.Pool({ connectionString: at.url });
      const table = "product.outbox";
      await pool.query("create schema product");
      await pool.query(outboxTable(table));
      return {
        url: at.url,
        table,
        run: async (sql, values = []) => {
          let count = 0;
          const { rows } = await pool.query(
            sql.replaceAll("?", () => `$${++count}`),
            values,
          );
          return rows;
        },
        close: () => pool.end(),
      };
    };
  },
  MariaDB: () => {
    const at = useMariadb();
    return async () => {
      const pool = createPool(at.url);
      const table = `${new URL(at.url).pathname.slice(1)}.outbox`;
      await pool.query(outboxTable(table, "mysql"));
      return {
        url: at.url,
        table,
        run: async (sql, values = []) => {
          const [rows] = await pool.query(sql, values);
          return rows as unknown[];
        },
        close: () => pool.end(),
      };
    };
  },
};
