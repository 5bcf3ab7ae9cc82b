import type { EventType } from "./event-types.ts";
import type { FailureKind } from "./failure-kinds.ts";
import type { WebhookDeliverySummary, WebhookEndpointSummary } from "./webhooks.ts";

/** The deliveries that were created within one hour, by what has become of them so far. */
export interface HourOfDeliveries {
  /** The hour's beginning. */
  startUtc: string;
  succeeded: number;
  /** Without an attempt so far. */
  waiting: number;
  /** Failed so far, and may be attempted again. */
  failing: number;
  exhausted: number;
}

/** An endpoint, and how it fares. Additive to SPEC. */
export interface EndpointOverview extends Omit<WebhookEndpointSummary, "deliveries"> {
  /** `paused` by an admin, or disabled by Herald after `failures`; null while enabled. */
  disabledReason: "paused" | "failures" | null;
  disabledAtUtc: string | null;
  createdAtUtc: string;
  updatedAtUtc: string;
  /** Deliveries that are neither succeeded nor exhausted; each count stops at 10,000. */
  unfinished: { pending: number; parked: number };
  /** The newest delivery. */
  lastDelivery: WebhookDeliverySummary | null;
  /**
   * 24 hours, oldest first, the last one still running. They count the 10,000 newest deliveries, of
   * the organization in a list and of the endpoint where it's read alone, so on busy days the earliest hours can be short.
   */
  last24Hours: HourOfDeliveries[];
}

/** An attempt of the run of failures that an endpoint is in. */
export interface FailedAttempt {
  deliveryId: string;
  attemptNumber: number;
  eventType: EventType;
  attemptedAtUtc: string;
  durationMs: number;
  statusCode: number;
  errorSummary: string | null;
  failureKind: FailureKind | null;
  responseExcerpt: string | null;
}

/** One endpoint in full. Additive to SPEC. */
export interface EndpointDetails extends EndpointOverview {
  /** The failures since the last success, oldest first: where `disabledReason` is `failures`, the attempts that did it. */
  failureRun: FailedAttempt[];
  /** What goes out when the endpoint is enabled again; null while it is enabled. */
  onResume: {
    parked: number;
    /** Events of the last seven days that came while it was disabled. */
    missedEvents: number;
    /** There are more than was counted. */
    missedEventsIsMinimum: boolean;
  } | null;
}
