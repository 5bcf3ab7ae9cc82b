import type { EventType } from "./event-types.ts";
import type { FieldProblem } from "./problems.ts";

/** A delivery by its latest attempt: one row per delivery, not per attempt (SPEC 2.2). */
export interface WebhookDeliverySummary {
  /** UUID, kept across retries; sent as the delivery-id header. */
  id: string;
  /** UUID of the business event; absent for manual deliveries. */
  businessEventId?: string;
  eventType: EventType;
  /** Attempts made so far, 0 to 5. */
  attemptCount: number;
  /** HTTP status of the latest attempt, 503 for network errors and timeouts, null before the first. */
  statusCode: number | null;
  /** True when the latest attempt got a 2xx. */
  succeeded: boolean;
  /** Why the latest attempt failed; null when it succeeded or none was made. */
  errorSummary: string | null;
  /** ISO 8601, UTC; null before the first attempt. */
  attemptedAtUtc: string | null;
}

/** A configured receiver (SPEC 2.1). */
export interface WebhookEndpointSummary {
  /** UUID. */
  id: string;
  name: string;
  /** Absolute HTTPS URL. */
  url: string;
  enabled: boolean;
  consecutiveFailures: number;
  events: EventType[];
  /** The endpoint's share of the organization's 200 most recent deliveries, newest first. */
  deliveries: WebhookDeliverySummary[];
  /** Base64 of the row's revision; changes with the configuration. */
  version: string;
}

/** Body of POST and PUT (SPEC 4.1). */
export interface SaveWebhookRequest {
  name: string;
  url: string;
  enabled: boolean;
  /** True makes a new signing secret; absent means false. A new endpoint gets one in any case. */
  rotateSecret?: boolean;
  events: EventType[];
  /** Null or absent on create; the latest version on edit. */
  version?: string | null;
}

/** Answer to POST and PUT (SPEC 4.1). */
export interface SaveWebhookResponse {
  endpoint: WebhookEndpointSummary;
  /** The signing secret where this request made one, else null. It is shown this once. */
  signingSecret: string | null;
}

/** Body of DELETE (SPEC 4.1). */
export interface DeleteWebhookRequest {
  version: string;
}

/** Body of a manual delivery (SPEC 4.1). */
export interface DeliverRequest {
  /** An event that the endpoint is subscribed to. */
  eventType: EventType;
  /** Valid JSON, sent byte for byte. */
  payloadJson: string;
}

/** Body of a check: the fields of a create or edit that are known so far. Additive to SPEC. */
export type CheckWebhookRequest = Partial<Omit<SaveWebhookRequest, "version">>;

/** What saving would complain about. Additive to SPEC. */
export interface CheckWebhookResponse {
  errors: FieldProblem[];
}
