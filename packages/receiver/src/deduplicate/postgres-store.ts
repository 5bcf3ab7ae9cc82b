import type { DeduplicationStore } from "./deduplicator.ts";

/** Runs a statement with `$1` placeholders: a `pg` client, or a few lines around another driver. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rowCount: number | null }>;
}

/** A pool of such clients, as of `pg`. */
export interface Pool<Client extends PoolClient> {
  /** Takes a client. It calls back instead of returning a promise: a connection can break before the code that awaits a promise runs. */
  connect(taken: (error: Error | undefined, client: Client | undefined) => void): void;
}

/** The table that a store needs; run it in a migration. Rows older than the sender's seven days may be deleted. */
export function receivedEventTable(table = "herald_received_event"): string {
  return `create table if not exists ${quoted(table)} (
  endpoint text not null,
  key text not null,
  received_at timestamptz not null default now(),
  primary key (endpoint, key)
)`;
}

type PoolClient = Queryable & {
  release(destroy?: boolean): void;
  on?(event: "error", listener: (error: Error) => void): unknown;
  off?(event: "error", listener: (error: Error) => void): unknown;
};

/**
 * Remembers events in PostgreSQL, in the same transaction as what `persist` writes through the client that it gets: a
 * crash leaves both or neither.
 *
 * With a `pool`, each event gets a transaction of its own. With a `client`, the event joins the transaction that the
 * caller has begun on it, and is answered for only once the caller has committed.
 */
export function postgresStore<Client extends PoolClient>(options: {
  pool: Pool<Client>;
  table?: string;
}): DeduplicationStore<Client>;
export function postgresStore<Client extends Queryable>(options: {
  client: Client;
  table?: string;
}): DeduplicationStore<Client>;
export function postgresStore(
  options: { pool: Pool<PoolClient>; table?: string } | { client: Queryable; table?: string },
): DeduplicationStore<Queryable> {
  const table = quoted(options.table ?? "herald_received_event");
  // A second transaction with the same pair waits here until the first one has ended: it then inserts nothing, or,
  // if the first was rolled back, the row.
  const insert = `insert into ${table} (endpoint, key) values ($1, $2) on conflict do nothing`;

  async function join(client: Queryable, endpoint: string, key: string, persist: (client: Queryable) => Promise<void>) {
    const { rowCount } = await client.query(insert, [endpoint, key]);
    if (rowCount === 0) return false;
    await persist(client);
    return true;
  }

  return {
    once: (endpoint, key, persist) =>
      "pool" in options
        ? inTransaction(options.pool, (client) => join(client, endpoint, key, persist))
        : inSavepoint(options.client, () => join(options.client, endpoint, key, persist)),
  };
}

async function inTransaction<Result>(pool: Pool<PoolClient>, work: (client: PoolClient) => Promise<Result>) {
  const client = await take(pool);
  let broken = true;
  try {
    await client.query("begin");
    try {
      const result = await work(client);
      const { command } = (await client.query("commit")) as { command?: string };
      broken = false;
      // PostgreSQL answers so, without an error, if a statement failed and `persist` hid it.
      if (command === "ROLLBACK") throw new Error("a statement failed while the event was persisted: nothing was kept");
      return result;
    } catch (error) {
      await client.query("rollback").then(
        () => {
          broken = false;
        },
        () => {},
      );
      throw error;
    }
  } finally {
    client.off?.("error", ignored);
    client.release(broken);
  }
}

/** A client that is listened to from the moment in which the pool, which listens to idle ones, hands it out. */
function take(pool: Pool<PoolClient>): Promise<PoolClient> {
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

/** A connection that dies emits "error" besides failing its query. Without a listener that event would end the process. */
function ignored(): void {}

/** PostgreSQL refuses a savepoint outside of a transaction: there the event would be remembered although `persist` failed. */
async function inSavepoint<Result>(client: Queryable, work: () => Promise<Result>) {
  await client.query("savepoint herald_event");
  try {
    const result = await work();
    await client.query("release savepoint herald_event");
    return result;
  } catch (error) {
    await client.query("rollback to savepoint herald_event").catch(() => {});
    throw error;
  }
}

function quoted(table: string): string {
  return table
    .split(".")
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join(".");
}
