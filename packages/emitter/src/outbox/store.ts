import { quoted } from "./outbox-table.ts";
import type { Row } from "./rows.ts";

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

/**
 * Makes the caller's transaction the only one that sends from the table $1, or says that another one is, and whether row-level security hides
 * all rows from its user. The lock is an advisory one and ends with the transaction, however that ends. Nothing else waits for it. A
 * transaction that holds it and has not written yet has no number, so it keeps no dead row of any table from being vacuumed.
 */
const LOCK = `
  select pg_try_advisory_xact_lock(hashtextextended('herald outbox ' || $1::regclass::oid, 0)) as locked,
    row_security_active($1::regclass::oid) and not exists (
      select from pg_policy, unnest(polroles) as role
      where polrelid = $1::regclass and polcmd in ('r', '*') and (role = 0 or pg_has_role(role, 'usage'))
    ) as hidden`;

/** Set whatever the database's default is: after a relay gets the lock, its reads have to show what the relay before has written. */
const BEGIN = "begin isolation level read committed";

export function outboxStore(pool: Pool, table: string) {
  const name = quoted(table);
  const waiting = `from ${name} where sent_at is null and refused is null`;

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
        const [row] = (await client.query(LOCK, [name])).rows as { locked: boolean; hidden: boolean }[];
        if (row?.hidden) throw new Error(`Row-level security hides ${table} from its relay: ${POLICY_NEEDED}`);
        if (!row?.locked) {
          await client.query("rollback");
          return undefined;
        }
        const result = await work(lockedOutbox(client, table));
        await client.query("commit");
        return result;
      }),
    /**
     * Erases one step of the rows that were sent longer ago than that; returns their number. Walks the index of sent rows from its left end. Rows
     * that another relay erases, or that a replay takes, are passed over.
     */
    erase: ({ keptSeconds, limit }: { keptSeconds: number; limit: number }) =>
      withClient(async (client) => {
        const { rows } = await client.query(
          `delete from ${name} where number in (
            select number from ${name}
            where sent_at < statement_timestamp() - make_interval(secs => $1::float8)
            order by sent_at, number
            limit $2
            for update skip locked
          ) returning 1`,
          [keptSeconds, limit],
        );
        return rows.length;
      }),
    /**
     * Makes rows that were sent since then wait again, in steps, the earliest first; returns their number. Walks the index of sent rows. Locks the
     * rows of a step; for one that is just being erased it waits, and then passes over it.
     */
    replay: ({ since, stepRows, onStep }: { since: Date; stepRows: number; onStep?: (rows: number) => void }) =>
      withClient(async (client) => {
        // By the database's clock, like the times of the rows.
        const [start] = (await client.query("select clock_timestamp()::text as now")).rows as { now: string }[];
        for (let total = 0; ; ) {
          const { rows } = await client.query(
            `update ${name} set sent_at = null where number in (
              select number from ${name}
              where sent_at >= $1::timestamptz and sent_at < $2::timestamptz
              order by sent_at, number
              limit $3
              for update
            ) returning 1`,
            [since.toISOString(), start?.now, stepRows],
          );
          total += rows.length;
          if (rows.length > 0) onStep?.(total);
          if (rows.length < stepRows) return total;
        }
      }),
    /** Walks the indexes of waiting and of refused rows from their left ends; locks nothing. */
    lag: () =>
      withClient(async (client) => {
        const { rows } = await client.query(
          `select
            (select count(*) from (select 1 ${waiting} limit $1) as counted)::int as waiting,
            (select extract(epoch from statement_timestamp() - added_at)::float8 ${waiting} order by number limit 1) as "oldestSeconds",
            (select count(*) from (select 1 from ${name} where refused is not null limit $1) as counted)::int as refused`,
          [COUNTED_AT_MOST],
        );
        return rows[0] as OutboxLag;
      }),
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
    /**
     * The rows that wait behind a number, oldest first. Locks none of them: the reader has the lock of the whole table. Walks the index of waiting
     * rows from that number on. A service may have made `event` a column of type json.
     */
    waiting: async (limit: number, after: string) => {
      const { rows } = await client.query(
        `select outbox.number::text as number, event::text, traceparent
        from ${quoted(table)} as outbox
        where sent_at is null and refused is null and number > $2::bigint
        order by outbox.number
        limit $1`,
        [limit, after],
      );
      await client.query(IDLE_LIMIT);
      return rows as Row[];
    },
    /** All of them get one time, so that they keep their order in the index of sent rows. No other transaction writes to them while they wait. */
    markSent: async (numbers: readonly string[]) => {
      const sent = `update ${quoted(table)} set sent_at = statement_timestamp() where number = any($1::bigint[]) returning 1`;
      if (numbers.length > 0) await write(sent, [numbers]);
    },
    /** They stay until the service has repaired or deleted them. */
    setAside: async (refused: readonly { number: string; reason: string }[]) => {
      if (refused.length === 0) return;
      await write(
        `update ${quoted(table)} set refused = found.reason
        from unnest($1::bigint[], $2::text[]) as found (row_number, reason)
        where number = found.row_number returning 1`,
        [refused.map(({ number }) => number), refused.map(({ reason }) => reason)],
      );
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
