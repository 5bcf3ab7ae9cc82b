import type { NotSentReason } from "@herald/amqp";
import type { Emitter } from "../emitter.ts";
import type { Sendable } from "./read-row.ts";

/** What became of some rows. */
export interface SentRows {
  /** The broker has confirmed them. */
  sent: string[];
  /** The first row of each bucket of which the broker refused one. */
  refused: Map<string, string>;
  /** Why a row was not sent, of the first one. */
  failure: Error | undefined;
  /** Whether the broker takes nothing, and not only some of the events. */
  isBrokerAway: boolean;
}

/** The broker's answer to one event: a queue is full, or missing. Others may go to other queues. */
const REFUSALS: readonly (NotSentReason | undefined)[] = ["refused", "unroutable"];

/** Sends rows, all at once. @param rows oldest first */
export async function sendRows(rows: readonly Sendable[], emitter: Pick<Emitter, "emitJson">): Promise<SentRows> {
  const errors = await Promise.all(
    rows.map(({ json, traceparent }) =>
      // What is active here is the relay's own.
      emitter.emitJson(json, { traceparent: traceparent ?? null }).then(
        () => undefined,
        (error: Error & { reason?: NotSentReason }) => error,
      ),
    ),
  );
  const result: SentRows = { sent: [], refused: new Map(), failure: undefined, isBrokerAway: false };
  for (const [index, { number, bucket }] of rows.entries()) {
    const error = errors[index];
    if (error === undefined) {
      result.sent.push(number);
      continue;
    }
    result.failure ??= error;
    if (!REFUSALS.includes(error.reason)) result.isBrokerAway = true;
    else if (!result.refused.has(bucket)) result.refused.set(bucket, number);
  }
  return result;
}
