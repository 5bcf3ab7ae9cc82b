import type { Row } from "../rows.ts";
import { COUNTED_AT_MOST, type LockedOutbox, type OutboxStore } from "../store.ts";
import {
  erase,
  LOCK,
  markSent,
  outboxLag,
  RELEASE,
  replay,
  sentBefore,
  sentWithin,
  setAside,
  waitingRows,
} from "./statements.ts";

/** A pool of connections, as of `mysql2/promise`. */
export interface MysqlPool {
  getConnection(): Promise<MysqlConnection>;
}

export interface MysqlConnection {
  /** Sends a statement with its values in it. */
  query(sql: string, values?: (string | number | null)[]): Promise<[unknown, unknown]>;
  /** Sends a prepared statement, and the values beside it. */
  execute(sql: string, values?: string[]): Promise<[unknown, unknown]>;
  release(): void;
  destroy(): void;
}

type Run = <R>(sql: string, ...values: (string | number | null)[]) => Promise<R[]>;

/** What a task does on a connection. */
interface Session {
  run: Run;
  runPrepared(sql: string, ...values: string[]): Promise<unknown>;
}

/** Without it, a connection whose other end fell silent would hold the relay for as long as TCP keeps trying. */
const ANSWER_TIMEOUT_MS = 60_000;

/**
 * How long the connection that has the lock may idle while its events are sent. The server then ends it, and with it the lock: this is for
 * the machine that vanished without closing its connections. A batch ends long before.
 */
const LIMIT_IDLE = "set @herald_wait_timeout = @@session.wait_timeout, session wait_timeout = 60";
const RESTORE_IDLE = "set session wait_timeout = @herald_wait_timeout";

/** For the next transaction only. Whatever the pool's level is: at MySQL's own one, a range that is read for update keeps services from inserting. */
const LEVEL = "set transaction isolation level read committed";

/** The outbox of a MariaDB or MySQL database. */
export function mysqlStore(pool: MysqlPool, table: string): OutboxStore {
  async function withSession<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    const connection = await pool.getConnection();
    const run: Run = async <R>(sql: string, ...values: (string | number | null)[]) => {
      const [rows] = await inTime(connection.query(sql, values));
      return rows as R[];
    };
    const runPrepared = (sql: string, ...values: string[]) => inTime(connection.execute(sql, values));
    try {
      const result = await work({ run, runPrepared });
      connection.release();
      return result;
    } catch (error) {
      // The lock ends with the connection, and a transaction too.
      connection.destroy();
      throw error;
    }
  }

  /** Locks one step of rows by a statement, and changes them by another one; how many it were. */
  function step(
    found: { sql: string; values: (string | number)[] },
    change: (table: string, numbers: readonly string[]) => string,
  ): Promise<number> {
    return withSession(({ run }) =>
      transaction(run, async () => {
        const rows = await run<{ number: string }>(found.sql, ...found.values);
        const numbers = rows.map(({ number }) => number);
        if (numbers.length > 0) await run(change(table, numbers));
        return numbers.length;
      }),
    );
  }

  return {
    locked: (work) =>
      withSession(async (session) => {
        const { run } = session;
        const [schema, name] = table.includes(".") ? table.split(".") : [null, table];
        const [lock] = await run<{ locked: number | null; name: string }>(LOCK, schema ?? null, name ?? null);
        if (!lock)
          throw new Error(`There is no table ${table} in the outbox's database, or its user has no right to it.`);
        if (Number(lock.locked) !== 1) return undefined;
        await run(LIMIT_IDLE);
        const result = await work(lockedOutbox(session, table));
        await run(RELEASE, lock.name);
        await run(RESTORE_IDLE);
        return result;
      }),
    erase: ({ keptSeconds, limit }) => step({ sql: sentBefore(table), values: [keptSeconds, limit] }, erase),
    async replay({ since, stepRows, onStep }) {
      // By the database's clock, like the times of the rows.
      const [start] = await withSession(({ run }) =>
        run<{ now: string }>("select date_format(utc_timestamp(6), '%Y-%m-%d %H:%i:%s.%f') as now"),
      );
      const from = since.toISOString().replace("T", " ").replace("Z", "");
      for (let total = 0; ; ) {
        const rows = await step({ sql: sentWithin(table), values: [from, start?.now ?? "", stepRows] }, replay);
        total += rows;
        if (rows > 0) onStep?.(total);
        if (rows < stepRows) return total;
      }
    },
    lag: () =>
      withSession(async ({ run }) => {
        // Whether a pool gives big numbers as text is for its owner to say.
        const [lag] = await run<{ waiting: unknown; oldest: unknown; refused: unknown }>(
          outboxLag(table),
          COUNTED_AT_MOST,
          COUNTED_AT_MOST,
        );
        return {
          waiting: Number(lag?.waiting),
          oldestSeconds: lag?.oldest == null ? null : Number(lag.oldest) / 1_000_000,
          refused: Number(lag?.refused),
        };
      }),
  };
}

/** While a batch is sent no transaction is open: the lock is the connection's. */
function lockedOutbox({ run, runPrepared }: Session, table: string): LockedOutbox {
  return {
    waiting: (limit, after) => run<Row>(waitingRows(table, after), limit),
    markSent: async (numbers) => {
      if (numbers.length > 0) await transaction(run, () => run(markSent(table, numbers)));
    },
    setAside: async (refused) => {
      if (refused.length === 0) return;
      const sql = setAside(table);
      await transaction(run, async () => {
        // Prepared: a reason holds what strangers wrote, and how text is escaped in a statement depends on the server's mode.
        for (const { number, reason } of refused) await runPrepared(sql, reason, number);
      });
    },
  };
}

async function transaction<Result>(run: Run, work: () => Promise<Result>): Promise<Result> {
  await run(LEVEL);
  await run("start transaction");
  const result = await work();
  await run("commit");
  return result;
}

/** Not mysql2's own limit, whose timer goes on after a lost connection. Who gets the error destroys the connection. */
async function inTime<Result>(answer: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const message = `The outbox's database has not answered for ${ANSWER_TIMEOUT_MS / 1_000} s.`;
    timer = setTimeout(() => reject(new Error(message)), ANSWER_TIMEOUT_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
