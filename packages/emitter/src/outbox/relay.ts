import type { EmittedEvent } from "../emitted-event.ts";
import type { Emitter } from "../emitter.ts";
import { InvalidEventError } from "../errors.ts";
import { DEFAULT_OUTBOX_TABLE, type Queryable, quoted } from "./outbox.ts";

/** A pool of clients, as of `pg`. */
export interface Pool {
  connect(): Promise<PoolClient>;
}

export interface PoolClient extends Queryable {
  release(destroy?: boolean): void;
  on?(event: "error", listener: (error: Error) => void): unknown;
  off?(event: "error", listener: (error: Error) => void): unknown;
}

export interface RelayOptions {
  /** Of the database that holds the outbox. The relay uses one of its connections at a time. */
  pool: Pool;
  /** Its `timeoutMs` is how long a batch may take. The relay does not close it. */
  emitter: Pick<Emitter, "emit">;
  table?: string;
  /** How many events are sent at once; 200 where absent. */
  batchSize?: number;
  /** How long the relay rests when the outbox is empty; 250 ms where absent. `wake` ends the rest. */
  pollIntervalMs?: number;
  /** The database or the broker failed; the relay tries again by itself, a second later. For a log. */
  onFailure?: (error: Error) => void;
}

export interface Relay {
  /** To be called after a commit: the relay reads the outbox at once instead of at the next poll. */
  wake(): void;
  /** Finishes the batch that is under way. */
  close(): Promise<void>;
}

const REST_AFTER_FAILURE_MS = 1_000;

interface Row {
  number: string;
  event: string;
  traceparent: string | null;
}

/**
 * Sends what commits into the outbox, oldest first, and deletes what the broker has confirmed. Any number of relays may
 * run, in any number of processes; each row is locked by one of them. A relay that dies between confirm and delete leaves its
 * rows to the next one, which sends them again, and Herald delivers an event once: nothing is lost, nothing delivered twice.
 *
 * An event that breaks the contract, which `add` would not have taken, stays in the table with the reason in `refused`.
 */
export function startRelay(options: RelayOptions): Relay {
  const { pollIntervalMs = 250, batchSize = 200, onFailure } = options;
  let isClosing = false;
  let isWoken = false;
  let endRest = () => {};

  async function rest(durationMs: number): Promise<void> {
    if (!isWoken && !isClosing) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, durationMs);
        endRest = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    isWoken = false;
  }

  async function run(): Promise<void> {
    while (!isClosing) {
      try {
        const { taken, failure } = await inTransaction(options.pool, (client) => sendBatch(client, options, batchSize));
        if (failure) throw failure;
        if (taken < batchSize) await rest(pollIntervalMs);
      } catch (error) {
        onFailure?.(error as Error);
        await rest(REST_AFTER_FAILURE_MS);
      }
    }
  }

  const ended = run();
  return {
    wake() {
      isWoken = true;
      endRest();
    },
    close() {
      isClosing = true;
      endRest();
      return ended;
    },
  };
}

/**
 * Locks, sends and deletes one batch. The locks last until the broker has confirmed, so no other relay sends the same
 * rows. They end with this process, even where it is killed.
 */
async function sendBatch(
  client: Queryable,
  { emitter, table = DEFAULT_OUTBOX_TABLE }: RelayOptions,
  batchSize: number,
): Promise<{ taken: number; failure: Error | null }> {
  const name = quoted(table);
  const { rows } = await client.query(
    `select number, event, traceparent from ${name} where refused is null order by number limit $1 for update skip locked`,
    [batchSize],
  );
  const sent: string[] = [];
  const refused: { number: string; reason: string }[] = [];
  let failure: Error | null = null;
  await Promise.all(
    (rows as Row[]).map(async ({ number, event, traceparent }) => {
      try {
        await emitter.emit(JSON.parse(event) as EmittedEvent, traceparent === null ? {} : { traceparent });
        sent.push(number);
      } catch (error) {
        if (error instanceof InvalidEventError || error instanceof SyntaxError) {
          refused.push({ number, reason: error.message });
        } else {
          failure = error as Error;
        }
      }
    }),
  );
  if (sent.length > 0) await client.query(`delete from ${name} where number = any($1::bigint[])`, [sent]);
  for (const { number, reason } of refused) {
    await client.query(`update ${name} set refused = $2 where number = $1`, [number, reason]);
  }
  return { taken: rows.length, failure };
}

async function inTransaction<Result>(pool: Pool, work: (client: Queryable) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  client.on?.("error", ignored);
  let broken = true;
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    broken = false;
    return result;
  } finally {
    client.off?.("error", ignored);
    // After a failure the connection is ended, and the transaction with it.
    client.release(broken);
  }
}

/** A connection that dies fails its query and emits "error". Without a listener, that event would end the process. */
function ignored(): void {}
