import type { Emitter } from "../emitter.ts";
import { outboxBatches } from "./batches.ts";
import { DEFAULT_OUTBOX_TABLE } from "./outbox-table.ts";
import { type OutboxLag, outboxStore, type Pool } from "./store.ts";

export interface RelayOptions {
  /** The pool of the database that holds the outbox. The relay uses one of its connections at a time. */
  pool: Pool;
  /** Its `timeoutMs` should be less than 45 s. The relay does not close it. */
  emitter: Pick<Emitter, "emitJson">;
  table?: string;
  /** How many events are sent at once; 200 if absent. */
  batchSize?: number;
  /** How long the relay rests when the outbox is empty; 250 ms if absent. `wake` ends the rest. */
  pollIntervalMs?: number;
  /** For how many days rows are kept after the broker has confirmed them, so that they can be replayed; 7 if absent. */
  keepDays?: number;
  /** The database or the broker failed, and the relay tries again a second later; or rows were set aside (`RowsSetAsideError`). For a log. */
  onFailure?: (error: Error) => void;
  /** Called with the result of each batch. For metrics. */
  onBatch?: (batch: { sent: number; refused: number }) => void;
  /** Milliseconds since some moment in the past; the process's if absent. */
  monotonicMs?: () => number;
}

export interface Relay {
  /** To be called after a commit: the relay reads the outbox at once instead of at the next poll. */
  wake(): void;
  /** Waits for the batch that is being sent. */
  close(): Promise<void>;
}

const REST_AFTER_FAILURE_MS = 1_000;

const ERASE_INTERVAL_MS = 10_000;
const STEP_ROWS = 1_000;
const DAY_SECONDS = 86_400;

/**
 * Sends the events of the outbox, oldest first, and marks those that the broker has confirmed. Any number of relays may run, in any number
 * of processes: one at a time sends from a table, and another one continues when it ends or dies. A relay that dies between confirm
 * and mark leaves its rows to the next one, which sends them again, and Herald delivers an event once: nothing is lost, nothing
 * delivered twice.
 *
 * An event that breaks the contract stays in the table with the reason in `refused`. If the broker refuses an event, its bucket
 * is held, and the relay continues with the rows of other buckets. So the held bucket delays none of them, however many of its rows
 * stand in front. One row of it is tried each second; when the broker takes that, the bucket's rows are sent from there on.
 */
export function startRelay(options: RelayOptions): Relay {
  const { pollIntervalMs = 250, batchSize = 200, keepDays = 7, onFailure, onBatch } = options;
  const { monotonicMs = () => performance.now() } = options;
  const store = outboxStore(options.pool, options.table ?? DEFAULT_OUTBOX_TABLE);
  const batches = outboxBatches({ emitter: options.emitter, batchSize, monotonicMs, onBatch, onFailure });
  let nextEraseMs = monotonicMs();
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
        await pass();
        await eraseOld();
      } catch (error) {
        onFailure?.(error as Error);
        await rest(REST_AFTER_FAILURE_MS);
      }
    }
  }

  /** Sends the rows that wait now, and rests if these were all. */
  async function pass(): Promise<void> {
    let isMore = false;
    let failure: Error | undefined;
    for (const send of batches.next()) {
      const result = isClosing ? undefined : await store.locked(send);
      failure ??= result?.failure;
      isMore ||= result?.isMore ?? false;
      if (!result?.isBrokerAway) continue;
      onFailure?.(failure as Error);
      return await rest(REST_AFTER_FAILURE_MS);
    }
    if (failure) onFailure?.(failure);
    if (!isMore) await rest(pollIntervalMs);
  }

  /** One step, and the next one soon if there is more. */
  async function eraseOld(): Promise<void> {
    if (monotonicMs() < nextEraseMs) return;
    const erased = await store.erase({ keptSeconds: keepDays * DAY_SECONDS, limit: STEP_ROWS });
    nextEraseMs = erased === STEP_ROWS ? monotonicMs() : monotonicMs() + ERASE_INTERVAL_MS;
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

export interface ReplayOptions {
  pool: Pool;
  table?: string;
  /** Events that the broker has confirmed since then are sent again, as far as their rows are still kept. */
  since: Date;
  /** Called after each step with the number so far. */
  onStep?: (rows: number) => void;
}

/**
 * Makes events that were sent since a time wait again, in steps of a thousand; relays then send them, oldest first, before newer ones. For
 * a broker or a Herald that was restored from a backup. Herald delivers the same event once, so too much does no harm.
 *
 * @returns how many events
 */
export async function replayOutbox({ pool, table, since, onStep }: ReplayOptions): Promise<number> {
  return await outboxStore(pool, table ?? DEFAULT_OUTBOX_TABLE).replay({
    since,
    stepRows: STEP_ROWS,
    ...(onStep && { onStep }),
  });
}

/** Counts the events that wait in an outbox; for metrics and alerts. */
export async function readOutboxLag({ pool, table }: { pool: Pool; table?: string }): Promise<OutboxLag> {
  return await outboxStore(pool, table ?? DEFAULT_OUTBOX_TABLE).lag();
}
