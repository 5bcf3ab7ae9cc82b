import pg from "pg";

/** What the servers did so far, in totals that only grow; the difference of two is what happened between. */
export interface ServerWork {
  /** That PostgreSQL wrote to its log: what a standby would have to be sent. */
  walBytes: number;
  /** Of the database of this Herald. A hot path's statement is a transaction of its own, so this counts statements. */
  transactions: number;
  /** From all clients that are connected now, and to them. NaN where the broker is not the bench's own. */
  brokerBytesIn: number;
  brokerBytesOut: number;
}

/** Longer than a session of PostgreSQL keeps its counts to itself. */
const COUNTS_SECONDS = 1.1;

/** @param control runs `rabbitmqctl`, which takes a second of CPU: not for the time that is measured */
export async function serverWork(
  databaseUrl: string,
  control: ((args: string[]) => Promise<string>) | undefined,
): Promise<ServerWork> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("select pg_sleep($1)", [COUNTS_SECONDS]);
    const { rows } = await client.query<{ walBytes: string; transactions: string }>(
      `select pg_current_wal_insert_lsn() - '0/0' as "walBytes", xact_commit + xact_rollback as "transactions"
      from pg_stat_database where datname = current_database()`,
    );
    const broker = await brokerBytes(control);
    return { walBytes: Number(rows[0]?.walBytes), transactions: Number(rows[0]?.transactions), ...broker };
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
