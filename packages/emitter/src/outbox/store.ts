import type { Row } from "./rows.ts";
import { eraseSent, LOCK, markSent, outboxLag, quoted, replaySent, setAside, waitingRows } from "./statements.ts";

/** The waiting events of an outbox. Counts end at {@link COUNTED_AT_MOST}. */
export interface OutboxLag {
  waiting: number;
  /** How long ago the oldest of them was added; null if nothing waits. */
  oldestSeconds: number | null;
  /** Rows that can't be sent, with the reason in `refused`. */
  refused: number;
}

export const COUNTED_AT_MOST = 10_000;

export type LockedOutbox = ReturnType<typeof lockedOutbox>;

export interface Pool {
  /** Takes a client. It calls back instead of returning a promise: a connection can break before the code that awaits a promise runs. */
  connect(taken: (error: Error | undefined, client: PoolClient | undefined) => void): void;
}

export interface PoolClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  release(destroy?: boolean): void;
  on?(event: "error", listener: (error: Error) => void): unknown;
  off?(event: "error", listener: (error: Error) => void): unknown;
}

/**
 * How long a transaction may idle while its events are sent. PostgreSQL then ends it, and with it the lock: this is for a machine that
 * vanished without closing its connections. A batch ends long before.
 *
 * It comes after the rows were read, since each statement drops what the one before has left open. A read that stays open keeps its
 * snapshot, and then dead rows of the whole database could not be vacuumed while the broker is waited for.
 */
const IDLE_LIMIT = "set local idle_in_transaction_session_timeout = '60s'";

/** Set whatever the database's default is: after a relay gets the lock, its reads have to show what the relay before has written. */
const BEGIN = "begin isolation level read committed";

export function outboxStore(pool: Pool, table: string) {
  async function withClient<Result>(work: (client: Pick<PoolClient, "query">) => Promise<Result>): Promise<Result> {
    const client = await take(pool);
    let isBroken = true;
    try {
      const result = await work(client);
      isBroken = false;
      return result;
    } finally {
      client.off?.("error", ignored);
      // After a failure the connection is ended, and the transaction with it.
      client.release(isBroken);
    }
  }

  return {
    /** Does work as the only relay that sends from this table; undefined, without having done it, while another relay does. */
    locked: <Result>(work: (outbox: LockedOutbox) => Promise<Result>): Promise<Result | undefined> =>
      withClient(async (client) => {
        await client.query(BEGIN);
        const [row] = (await client.query(LOCK, [quoted(table)])).rows as { locked: boolean; hidden: boolean }[];
        if (row?.hidden) throw new Error(`Row-level security hides ${table} from its relay: ${POLICY_NEEDED}`);
        if (!row?.locked) {
          await client.query("rollback");
          return undefined;
        }
        const result = await work(lockedOutbox(client, table));
        await client.query("commit");
        return result;
      }),
    /** Erases one step of the rows that were sent longer ago than that; returns their number. */
    erase: ({ keptSeconds, limit }: { keptSeconds: number; limit: number }) =>
      withClient(async (client) => (await client.query(eraseSent(table), [keptSeconds, limit])).rows.length),
    /** Makes rows that were sent since then wait again, in steps; returns their number. */
    replay: ({ since, stepRows, onStep }: { since: Date; stepRows: number; onStep?: (rows: number) => void }) =>
      withClient(async (client) => {
        // By the database's clock, like the times of the rows.
        const [start] = (await client.query("select clock_timestamp()::text as now")).rows as { now: string }[];
        for (let total = 0; ; ) {
          const values = [since.toISOString(), start?.now, stepRows];
          const { length } = (await client.query(replaySent(table), values)).rows;
          total += length;
          if (length > 0) onStep?.(total);
          if (length < stepRows) return total;
        }
      }),
    lag: () =>
      withClient(async (client) => (await client.query(outboxLag(table), [COUNTED_AT_MOST])).rows[0] as OutboxLag),
  };
}

const POLICY_NEEDED = "give the relay's user BYPASSRLS, or policies to select, update and delete all rows.";

function lockedOutbox(client: Pick<PoolClient, "query">, table: string) {
  async function write(statement: string, values: unknown[]): Promise<void> {
    const { rows } = await client.query(statement, values);
    if (rows.length === 0)
      throw new Error(`No row of ${table} could be changed, by a policy or trigger: ${POLICY_NEEDED}`);
  }

  return {
    waiting: async (limit: number, after: string) => {
      const rows = (await client.query(waitingRows(table), [limit, after])).rows as Row[];
      await client.query(IDLE_LIMIT);
      return rows;
    },
    markSent: async (numbers: readonly string[]) => {
      if (numbers.length > 0) await write(markSent(table), [numbers]);
    },
    setAside: async (refused: readonly { number: string; reason: string }[]) => {
      if (refused.length === 0) return;
      await write(setAside(table), [refused.map(({ number }) => number), refused.map(({ reason }) => reason)]);
    },
  };
}

/** A client that is listened to from the moment in which the pool, which listens to idle ones, hands it out. */
function take(pool: Pool): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) {
        reject(error);
        return;
      }
      client.on?.("error", ignored);
      resolve(client);
    });
  });
}

/** A connection that dies fails its query and emits "error". Without a listener, that event would end the process. */
function ignored(): void {}
