import pg from "pg";

/** What the servers did so far, in totals that only grow; the difference of two is what happened between. */
export interface ServerWork {
  /** That PostgreSQL wrote to its log: what a standby would have to be sent. */
  walBytes: number;
  /** Of the database of this Herald. A hot path's statement is a transaction of its own, so this counts statements. */
  transactions: number;
  /** Entries that were put into indexes of this database: one for each index of a row that is new, or whose update was not HOT. */
  indexInsertions: number;
  /** Updates of rows, and those of them that were HOT: they write no index. */
  updates: number;
  hotUpdates: number;
  /** From all clients that are connected now, and to them. NaN where the broker is not the bench's own. */
  brokerBytesIn: number;
  brokerBytesOut: number;
}

/** Longer than a session of PostgreSQL that has become idle keeps its counts to itself. */
const COUNTS_SECONDS = 10.5;

/** @param control runs `rabbitmqctl`, which takes a second of CPU: not for the time that is measured */
export async function serverWork(
  databaseUrl: string,
  control: ((args: string[]) => Promise<string>) | undefined,
): Promise<ServerWork> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("select pg_sleep($1)", [COUNTS_SECONDS]);
    const { rows } = await client.query<Record<keyof ServerWork, string>>(
      `select
        pg_current_wal_insert_lsn() - '0/0' as "walBytes",
        (select xact_commit + xact_rollback from pg_stat_database where datname = current_database()) as "transactions",
        sum((n_tup_ins + n_tup_upd - n_tup_hot_upd) * (select count(*) from pg_index where indrelid = relid))
          as "indexInsertions",
        sum(n_tup_upd) as "updates",
        sum(n_tup_hot_upd) as "hotUpdates"
      from pg_stat_user_tables`,
    );
    const counted = Object.entries(rows[0] ?? {}).map(([name, count]) => [name, Number(count)]);
    return { ...Object.fromEntries(counted), ...(await brokerBytes(control)) };
  } finally {
    await client.end();
  }
}

async function brokerBytes(control: ((args: string[]) => Promise<string>) | undefined) {
  if (!control) return { brokerBytesIn: Number.NaN, brokerBytesOut: Number.NaN };
  const lines = (await control(["list_connections", "--no-table-headers", "recv_oct", "send_oct"])).trim().split("\n");
  const column = (index: number) => lines.reduce((sum, line) => sum + Number(line.split("\t")[index]), 0);
  return { brokerBytesIn: column(0), brokerBytesOut: column(1) };
}
