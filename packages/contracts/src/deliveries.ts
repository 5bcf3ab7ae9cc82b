import type { FailureKind } from "./failure-kinds.ts";
import type { WebhookDeliverySummary } from "./webhooks.ts";

/**
 * - `pending`: an attempt is due, now or later
 * - `parked`: set aside because its endpoint is disabled
 * - `succeeded`, `exhausted`: nothing more happens
 */
export type DeliveryState = "pending" | "parked" | "succeeded" | "exhausted";

/**
 * How a delivery stands, for filters and counts: `waiting` has had no attempt, `failing` had a failed one and may get another,
 * `exhausted` gets none.
 */
export const OUTCOMES = ["succeeded", "waiting", "failing", "exhausted"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A row of an endpoint's history. Additive to SPEC. */
export interface DeliveryListItem extends WebhookDeliverySummary {
  /** Null where `errorSummary` is. */
  failureKind: FailureKind | null;
  state: DeliveryState;
  /** An attempt is under way right now. */
  inFlight: boolean;
  createdAtUtc: string;
  /** When the next attempt is due; null where none is scheduled. */
  nextAttemptAtUtc: string | null;
  /** How long the latest attempt took; null before the first. */
  durationMs: number | null;
}

/** A part of an endpoint's history, newest first. Additive to SPEC. */
export interface DeliveryPage {
  /** May be fewer than asked for, and even none, while `nextCursor` says that there is more. */
  deliveries: DeliveryListItem[];
  /** Opaque; null where the history ends. */
  nextCursor: string | null;
}

/** One signed HTTP request. Additive to SPEC. */
export interface DeliveryAttemptInfo {
  /** 1 to 5. */
  number: number;
  attemptedAtUtc: string;
  durationMs: number;
  /** HTTP status; 503 for network errors and timeouts. */
  statusCode: number;
  /** Null where it succeeded. */
  errorSummary: string | null;
  /** Null where it succeeded. */
  failureKind: FailureKind | null;
  /** The first KiB of the response; null where there was none. */
  responseExcerpt: string | null;
  /** The text of the timestamp header: with the body, what the signature was made of. */
  timestamp: string;
  /**
   * Names and values as sent, in their order. What isn't stored is missing: `Host`, the signatures, and the trace context
   * of an attempt that was interrupted.
   */
  headers: [name: string, value: string][];
}

/** A delivery with what was sent and what came of each attempt. Additive to SPEC. */
export interface DeliveryDetails extends DeliveryListItem {
  /** The request body, character for character. */
  body: string;
  /** Oldest first. */
  attempts: DeliveryAttemptInfo[];
}
