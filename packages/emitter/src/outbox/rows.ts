import type { NotSentReason } from "@herald/amqp";
import type { Emitter } from "../emitter.ts";
import { bucketOf, InvalidEventError, readEventJson } from "../encode-event.ts";

export interface Row {
  number: string;
  event: string;
  traceparent: string | null;
}

export interface Sendable {
  number: string;
  json: string;
  /** The bucket of its organization. Herald refuses events by bucket. */
  bucket: string;
  traceparent: string | undefined;
}

/** A row after it was read: an event, or the reason why it is none. */
export type RowReading = { kind: "event"; sendable: Sendable } | { kind: "refused"; number: string; reason: string };

/** Rows were set aside, since they are no events for Herald. Each has its reason in the column `refused`. */
export class RowsSetAsideError extends Error {
  override readonly name = "RowsSetAsideError";
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const MAX_REASON_CHARACTERS = 1_000;

/** Reads a row: a row that is no event for Herald is refused with the reason. An invalid trace context is left out. Pure. */
export function readRow({ number, event: json, traceparent }: Row): RowReading {
  try {
    const { organizationId } = readEventJson(json).event;
    return {
      kind: "event",
      sendable: {
        number,
        json,
        bucket: bucketOf(organizationId),
        traceparent: traceparent !== null && TRACEPARENT.test(traceparent) ? traceparent : undefined,
      },
    };
  } catch (error) {
    if (error instanceof InvalidEventError) return { kind: "refused", number, reason: storable(error.message) };
    throw error;
  }
}

/** A reason names fields as the event has them. Only ASCII can be stored whatever the database's encoding is. */
function storable(reason: string): string {
  return reason.slice(0, MAX_REASON_CHARACTERS).replaceAll(/[^ -~]/gu, "?");
}

export interface SentRows {
  sent: string[];
  /** The first refused row of each bucket. */
  refused: Map<string, string>;
  /** Why the first unsent row was not sent. */
  failure: Error | undefined;
  /** Whether the broker takes no event at all. */
  isBrokerAway: boolean;
}

/** The broker's answer to one event: a queue is full, or missing. Others may go to other queues. */
const REFUSALS: readonly (NotSentReason | undefined)[] = ["refused", "unroutable"];

/** Sends rows, all at once. @param rows oldest first */
export async function sendRows(rows: readonly Sendable[], emitter: Pick<Emitter, "emitJson">): Promise<SentRows> {
  const errors = await Promise.all(
    rows.map(({ json, traceparent }) =>
      // The active span here is the relay's own.
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
