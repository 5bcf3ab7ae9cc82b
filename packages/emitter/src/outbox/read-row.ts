import { readEventJson } from "../encode-event.ts";
import { InvalidEventError } from "../errors.ts";
import { bucketOf } from "../routing-key.ts";

/** A row of the outbox. */
export interface Row {
  number: string;
  event: string;
  traceparent: string | null;
}

/** A row as it is sent. */
export interface Sendable {
  number: string;
  json: string;
  /** Of its organization. Where Herald takes no more, it takes no more of a bucket. */
  bucket: string;
  traceparent: string | undefined;
}

/** What a row turned out to be. */
export type RowReading = { kind: "event"; sendable: Sendable } | { kind: "refused"; number: string; reason: string };

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const MAX_REASON_CHARACTERS = 1_000;

/** Reads a row: what is no event that Herald takes is refused with the reason. A trace context that is none is left out. Pure. */
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

/** A reason names fields as the event has them: PostgreSQL takes no U+0000, and UTF-8 no half of a character. */
function storable(reason: string): string {
  return reason.slice(0, MAX_REASON_CHARACTERS).replaceAll(/[\p{Cc}\p{Cs}]/gu, "\ufffd");
}
