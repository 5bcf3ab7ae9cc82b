import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";

/** CPU seconds so far of the servers that this run started. */
export interface ServerCpu {
  postgres: number;
  rabbitmq: number;
}

/** Linux counts processes' time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/** Reads /proc; NaN where there is none. */
export function serverCpu(): ServerCpu {
  const total = { postgres: 0, rabbitmq: 0 };
  let processes: Stat[];
  try {
    processes = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap(statOf);
  } catch {
    return { postgres: Number.NaN, rabbitmq: Number.NaN };
  }
  for (const { ticks, command } of descendantsOf(process.pid, processes)) {
    if (command === "postgres") total.postgres += ticks / TICKS_PER_SECOND;
    if (command === "beam.smp") total.rabbitmq += ticks / TICKS_PER_SECOND;
  }
  return total;
}

interface Stat {
  pid: number;
  parent: number;
  command: string;
  /** Its own and those of its children that have ended. */
  ticks: number;
}

function statOf(pid: string): Stat[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const end = text.lastIndexOf(")");
    const fields = text.slice(end + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return [{ pid: Number(pid), parent: Number(fields[1]), command: text.slice(text.indexOf("(") + 1, end), ticks }];
  } catch {
    // It ended between the two reads.
    return [];
  }
}

function descendantsOf(pid: number, processes: readonly Stat[]): Stat[] {
  const children = processes.filter((each) => each.parent === pid);
  return children.flatMap((child) => [child, ...descendantsOf(child.pid, processes)]);
}

/** What PostgreSQL did so far, in totals that only grow. */
export interface PostgresWork {
  /** What it wrote to its log: what a standby would have to be sent. */
  walBytes: number;
  /** Entries that were put into indexes of this database: one for each index of a row that is new, or whose update was not HOT. */
  indexInsertions: number;
}

/** Longer than a session of PostgreSQL that has become idle keeps its counts to itself. */
const COUNTS_SECONDS = 10.5;

export async function postgresWork(databaseUrl: string): Promise<PostgresWork> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("select pg_sleep($1)", [COUNTS_SECONDS]);
    const { rows } = await client.query<Record<keyof PostgresWork, string>>(
      `select
        pg_current_wal_insert_lsn() - '0/0' as "walBytes",
        sum((n_tup_ins + n_tup_upd - n_tup_hot_upd) * (select count(*) from pg_index where indrelid = relid))
          as "indexInsertions"
      from pg_stat_user_tables`,
    );
    return { walBytes: Number(rows[0]?.walBytes), indexInsertions: Number(rows[0]?.indexInsertions) };
  } finally {
    await client.end();
  }
}
