import type { Emitter } from "../emitter.ts";
import { type Row, RowsSetAsideError, readRow, type Sendable, type SentRows, sendRows } from "./rows.ts";
import type { LockedOutbox } from "./store.ts";

interface Parts {
  emitter: Pick<Emitter, "emitJson">;
  batchSize: number;
  monotonicMs: () => number;
  onBatch: ((batch: { sent: number; refused: number }) => void) | undefined;
  onFailure: ((error: Error) => void) | undefined;
}

export interface BatchResult {
  isMore: boolean;
  /** The broker takes no event at all, of any bucket. */
  isBrokerAway: boolean;
  failure: Error | undefined;
}

/** A bucket that is on hold, since the broker refused one of its events. */
interface HeldBucket {
  /** All rows before this one were sent. */
  after: string;
  /** The broker has taken an event of the bucket since. */
  isOpen: boolean;
  tryAtMs: number;
}

/** Before the first row, whose number may be zero or negative. */
const START = "-9223372036854775808";

const TRY_INTERVAL_MS = 1_000;
/** Rows that are read to find the first one of a bucket, which is tried. */
const TRIED_ROWS = 10;

/** While buckets are held, no more than a tenth of the time goes into reading their rows to pass over them. */
const TIMES_PASSED_OVER = 10;

/**
 * Decides which rows a relay sends next. If the broker refuses an event, its bucket is held: the relay remembers the bucket's first
 * waiting row, and batches of other buckets pass over its rows. So it delays no other bucket, however many of its rows stand in front.
 * One row of it is tried each second; when the broker takes that, the bucket's rows are sent from there on.
 */
export function outboxBatches({ emitter, batchSize, monotonicMs, onBatch, onFailure }: Parts): {
  /** A batch of the buckets that are not held, and then one of each that is to be tried. */
  next(): ((outbox: LockedOutbox) => Promise<BatchResult>)[];
} {
  const held = new Map<string, HeldBucket>();
  /** The next read starts after this row. Unsent rows up to it are of held buckets, or were committed after they had been passed. */
  let after = START;
  let beganAgainMs = monotonicMs();
  /** Time spent since then on reading rows that were passed over. */
  let passedOverMs = 0;

  async function sendOthers(outbox: LockedOutbox): Promise<BatchResult> {
    const beganMs = monotonicMs();
    const rows = await outbox.waiting(batchSize, after);
    const { refused, isBrokerAway, failure } = await send(outbox, rows, (sendables) => {
      const chosen = sendables.filter(({ bucket }) => !held.has(bucket));
      if (rows.length > 0) passedOverMs += (monotonicMs() - beganMs) * (1 - chosen.length / rows.length);
      return chosen;
    });
    for (const [bucket, number] of refused) hold(bucket, number);
    // Rows that were not sent because the broker was away are read again.
    if (!isBrokerAway) after = rows.at(-1)?.number ?? after;
    beginAgain();
    return { isMore: rows.length === batchSize, isBrokerAway, failure };
  }

  /** Sent rows are not read again, so without a held bucket all waiting rows are at the start. */
  function beginAgain(): void {
    const sinceMs = monotonicMs() - beganAgainMs;
    if (held.size > 0 && sinceMs < Math.max(TRY_INTERVAL_MS, TIMES_PASSED_OVER * passedOverMs)) return;
    after = START;
    passedOverMs = 0;
    beganAgainMs = monotonicMs();
  }

  /** Goes on with a bucket from its first row that waits. It is no longer held when none waits any more. */
  async function sendHeld(outbox: LockedOutbox, bucket: string, own: HeldBucket): Promise<BatchResult> {
    const limit = own.isOpen ? batchSize : TRIED_ROWS;
    const rows = await outbox.waiting(limit, own.after);
    let tried: readonly Sendable[] = [];
    const { refused, isBrokerAway, failure } = await send(outbox, rows, (sendables) => {
      const waiting = sendables.filter((each) => each.bucket === bucket);
      tried = own.isOpen ? waiting : waiting.slice(0, 1);
      return tried;
    });
    const first = refused.get(bucket);
    if (isBrokerAway || first !== undefined) {
      hold(bucket, first);
      return { isMore: false, isBrokerAway, failure };
    }
    const isOnlyTried = !own.isOpen && tried.length > 0;
    const isLast = rows.length < limit && !isOnlyTried;
    if (isLast) held.delete(bucket);
    own.after = (isOnlyTried ? tried[0] : rows.at(-1))?.number ?? own.after;
    own.isOpen ||= isOnlyTried;
    return { isMore: !isLast, isBrokerAway, failure };
  }

  /** @param number of its first row that waits; if absent, as before */
  function hold(bucket: string, number?: string): void {
    const before = number === undefined ? held.get(bucket)?.after : String(BigInt(number) - 1n);
    held.set(bucket, { after: before ?? START, isOpen: false, tryAtMs: monotonicMs() + TRY_INTERVAL_MS });
  }

  async function send(
    outbox: LockedOutbox,
    rows: readonly Row[],
    choose: (sendables: readonly Sendable[]) => readonly Sendable[],
  ): Promise<SentRows> {
    const readings = rows.map(readRow);
    const broken = readings.filter((reading) => reading.kind === "refused");
    const sendables = readings.flatMap((reading) => (reading.kind === "event" ? [reading.sendable] : []));
    const result = await sendRows(choose(sendables), emitter);
    await outbox.markSent(result.sent);
    await outbox.setAside(broken);
    onBatch?.({ sent: result.sent.length, refused: broken.length });
    const [first] = broken;
    const words = `${broken.length} rows of the outbox can't be sent and were set aside, row ${first?.number} since ${first?.reason}`;
    if (first) onFailure?.(new RowsSetAsideError(words));
    return result;
  }

  return {
    next: () => [
      sendOthers,
      ...[...held]
        .filter(([, { tryAtMs }]) => tryAtMs <= monotonicMs())
        .map(
          ([bucket, own]) =>
            (outbox: LockedOutbox) =>
              sendHeld(outbox, bucket, own),
        ),
    ],
  };
}
