import { useDatabase } from "@herald/dev/harness/use-database";
import { useMariadb } from "@herald/dev/harness/use-mariadb";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { type Dialect, type OutboxPool, outboxTable, type StatementRunner } from "../src/outbox/index.ts";

/** What a test of the outbox does with a database that holds one. */
export interface OutboxDatabase {
  pool: OutboxPool & StatementRunner;
  /** For relays: no other pool's connections are ended. */
  relayPool: OutboxPool;
  /** Runs a statement with values in the place of each `?`; its rows. Statements are in the SQL that both databases speak. */
  run<Row>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** A business transaction. */
  transaction(work: (client: StatementRunner) => Promise<unknown>, end?: "commit" | "rollback"): Promise<void>;
  /** What makes the table again, under a name with a schema of its own. */
  makeTable(table: string): Promise<void>;
  /** An expression: a time so many seconds ago. */
  ago(seconds: number | string): string;
  /** A derived table with one column, n, from 1 on. */
  series(length: number): string;
  /** Ends every connection of the relays' pool. */
  endConnections(): Promise<void>;
  /** For each relay that waits for the broker, whether it keeps what was deleted or changed anywhere in the database from being cleaned away. */
  relaysThatWait(): Promise<{ held: boolean }[]>;
  /** What a program in a process of its own writes to open a pool on `databaseUrl`, after its imports. */
  program: { imports: string; open: string };
  url: string;
  close(): Promise<void>;
}

export interface OutboxDatabaseUnderTest {
  dialect: Dialect;
  /** To be called at the top of a `describe`, after the hook that closes what was opened; opens it in a hook or test. */
  use(): () => Promise<OutboxDatabase>;
}

const RELAYS = "outbox-relays";

/** The databases that an outbox can be in, each real. */
export const OUTBOX_DATABASES: Record<string, OutboxDatabaseUnderTest> = {
  PostgreSQL: {
    dialect: "postgresql",
    use: () => {
      const at = useDatabase();
      return () => openPostgresql(at.url);
    },
  },
  MariaDB: {
    dialect: "mysql",
    use: () => {
      const at = useMariadb();
      return () => openMariadb(at.url);
    },
  },
};

async function openPostgresql(url: string): Promise<OutboxDatabase> {
  const pool = new Pool({ connectionString: url, max: 10 });
  const relayPool = new Pool({ connectionString: url, max: 10, application_name: RELAYS });
  // Without a listener, an idle connection that dies would end the process.
  relayPool.on("error", () => {});
  const run = async <Row>(sql: string, values: unknown[] = []) => {
    let count = 0;
    const { rows } = await pool.query(
      sql.replaceAll("?", () => `$${++count}`),
      values,
    );
    return rows as Row[];
  };
  await pool.query(outboxTable());
  return {
    pool,
    relayPool,
    run,
    url,
    transaction: async (work, end = "commit") => {
      const client = await pool.connect();
      await client.query("begin");
      await work(client);
      await client.query(end);
      client.release();
    },
    makeTable: async (table) => {
      await pool.query(`create schema if not exists "${table.split(".")[0]}"`);
      await pool.query(outboxTable(table));
    },
    ago: (seconds) => `now() - interval '1 second' * (${seconds})`,
    series: (length) => `generate_series(1, ${length}) as series (n)`,
    endConnections: async () => {
      await run("select pg_terminate_backend(pid) from pg_stat_activity where application_name = ?", [RELAYS]);
    },
    relaysThatWait: () =>
      run(
        `select backend_xid is not null or backend_xmin is not null as held from pg_stat_activity
         where application_name = ? and state = 'idle in transaction' and query like 'set local%'`,
        [RELAYS],
      ),
    program: { imports: 'import pg from "pg";', open: "new pg.Pool({ connectionString: databaseUrl })" },
    close: async () => {
      await Promise.all([pool.end(), relayPool.end()]);
    },
  };
}

async function openMariadb(url: string): Promise<OutboxDatabase> {
  const pool = createPool({ uri: url, connectionLimit: 10 });
  const relayPool = createPool({ uri: url, connectionLimit: 10 });
  const relayConnections: number[] = [];
  const schemas: string[] = [];
  // Neither the table nor the relay depends on the time zone that a service has set.
  for (const each of [pool, relayPool])
    each.pool.on("connection", (connection) => connection.query("set time_zone = '+05:30'", () => undefined));
  relayPool.pool.on("connection", ({ threadId }) => relayConnections.push(threadId));
  const run = async <Row>(sql: string, values: unknown[] = []) => {
    const [rows] = await pool.query(sql, values);
    return rows as Row[];
  };
  await pool.query(outboxTable("herald_outbox", "mysql"));
  return {
    pool,
    relayPool,
    run,
    url,
    transaction: async (work, end = "commit") => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await work(connection);
      await connection.query(end);
      connection.release();
    },
    makeTable: async (table) => {
      const [schema] = table.split(".");
      await pool.query(`create database if not exists \`${schema}\``);
      schemas.push(schema as string);
      await pool.query(outboxTable(table, "mysql"));
    },
    ago: (seconds) => `utc_timestamp(6) - interval (${seconds}) second`,
    series: (length) => `(select seq as n from seq_1_to_${length}) as series`,
    endConnections: async () => {
      for (const id of relayConnections.splice(0)) {
        // One may have ended by itself.
        await pool.query(`kill connection ${id}`).catch(() => undefined);
      }
    },
    relaysThatWait: async () => {
      const rows = await run<{ held: number }>(
        `select exists (select 1 from information_schema.innodb_trx where trx_mysql_thread_id = relay) as held
         from (select is_used_lock(concat('herald:', sha1(concat(database(), '.herald_outbox')))) as relay) as lock_owner
         where relay is not null`,
      );
      return rows.map(({ held }) => ({ held: held === 1 }));
    },
    program: { imports: 'import { createPool } from "mysql2/promise";', open: "createPool(databaseUrl)" },
    close: async () => {
      for (const schema of schemas) await pool.query(`drop database if exists \`${schema}\``);
      await Promise.all([pool.end(), relayPool.end()]);
    },
  };
}
