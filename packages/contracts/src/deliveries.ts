import { type Static, Type } from "typebox";
import { EventType, FailureKind, Outcome } from "./enums.ts";
import {
  count,
  cursor,
  flag,
  httpStatus,
  idPrefix,
  listOf,
  object,
  orNull,
  partOf,
  type Query,
  refOrNull,
  refTo,
  text,
  time,
  uuid,
} from "./json-schema.ts";

const FAILED = "the receiver answered 503";

const summary = {
  id: uuid("The delivery; kept across retries and sent as the delivery-id header."),
  businessEventId: Type.Optional(
    uuid(
      "The business event; absent for manual deliveries, and until the event is stored, a fraction of a second after it came.",
    ),
  ),
  eventType: refTo({ EventType }, "The event's name."),
  attemptCount: count("Attempts made so far; at most 5, unless the service is set otherwise."),
  statusCode: orNull(
    httpStatus("HTTP status of the latest attempt, 503 for network errors and timeouts; null before the first."),
  ),
  succeeded: flag("True when the latest attempt got a 2xx."),
  errorSummary: orNull(
    text("Why the latest attempt failed; null if it succeeded or none was made.", { examples: [FAILED] }),
  ),
  attemptedAtUtc: orNull(time("When the latest attempt began; null before the first.")),
};

/** One row per delivery, not per attempt (SPEC 2.2). */
export const WebhookDeliverySummary = object("A delivery by its latest attempt.", summary);
export type WebhookDeliverySummary = Static<typeof WebhookDeliverySummary>;

// All that follows is additive to SPEC.

const failureKind = refOrNull({ FailureKind }, "Why it failed, for programs; null if `errorSummary` is.");

const listItem = {
  ...summary,
  endpointId: uuid("The endpoint that it goes to."),
  endpointName: text("What people call the endpoint.", { examples: ["Billing"] }),
  entityId: orNull(uuid("The entity that its event is about; null for manual deliveries.")),
  failureKind,
  outcome: refTo({ Outcome }, "How it stands."),
  inFlight: flag("The delivery is due: an attempt is under way, or waits for its turn."),
  createdAtUtc: time("When the delivery came to be."),
  nextAttemptAtUtc: orNull(time("When the next attempt is due; null if none is scheduled.")),
  durationMs: orNull(count("How long the latest attempt took, in milliseconds; null before the first.")),
};

export const DeliveryListItem = object("A row of a history.", listItem);
export type DeliveryListItem = Static<typeof DeliveryListItem>;

export const DeliveryPage = object("A part of a history, newest first.", {
  deliveries: listOf(
    refTo({ DeliveryListItem }),
    "May be fewer than asked for, and even none, while `nextCursor` says that there is more.",
    { maxItems: 100 },
  ),
  nextCursor: orNull(cursor("Send it as `cursor` for the next part; null if the history ends.")),
});
export type DeliveryPage = Static<typeof DeliveryPage>;

export const attempt = {
  attemptedAtUtc: time("When it began."),
  durationMs: count("How long it took, in milliseconds."),
  statusCode: httpStatus("HTTP status; 503 for network errors and timeouts."),
  errorSummary: orNull(text("Why it failed; null if it succeeded.", { examples: [FAILED] })),
  failureKind,
  responseExcerpt: orNull(
    text("The first KiB of the response; null if there was none.", { examples: ["Back in a minute."] }),
  ),
};

export const DeliveryAttemptInfo = object("One signed HTTP request.", {
  number: count("Which of the delivery's attempts.", { minimum: 1 }),
  ...attempt,
  timestamp: text("The text of the timestamp header: with the body, what the signature was made of.", {
    examples: ["1769860800"],
  }),
  headers: listOf(
    Type.Unsafe<[name: string, value: string]>({
      type: "array",
      prefixItems: [text("Name."), text("Value.")],
      items: { type: "string" },
      minItems: 2,
      maxItems: 2,
    }),
    "As sent, in their order. These aren't stored, and are missing: `Host`, the signatures, the receiver's own headers, and the trace " +
      "context of an attempt that was interrupted.",
  ),
});
export type DeliveryAttemptInfo = Static<typeof DeliveryAttemptInfo>;

export const DeliveryDetails = object("A delivery with what was sent and what came of each attempt.", {
  ...listItem,
  resendOf: orNull(uuid("The delivery that this one sends again; null if it is no part of a resend.")),
  author: orNull(
    text(
      "Who sent it, or started its resend: a name, or the subject of a token without one; null for the delivery of an event.",
    ),
  ),
  body: text("The request body, character for character."),
  attempts: listOf(refTo({ DeliveryAttemptInfo }), "Oldest first."),
});
export type DeliveryDetails = Static<typeof DeliveryDetails>;

/** The filters of a history, which a resend has too. */
export const historyFilter = {
  eventType: Type.Optional(listOf(refTo({ EventType }), "Only these events; may be repeated.")),
  statusCode: Type.Optional(
    listOf(
      httpStatus("An HTTP status."),
      "Only deliveries whose latest attempt ended with this status, 503 for network errors and timeouts; may be repeated.",
    ),
  ),
  from: Type.Optional(text("Created at this time or later.", { format: "date-time" })),
  to: Type.Optional(text("Created before this time.", { format: "date-time" })),
};

const filters = {
  outcome: Type.Optional(listOf(refTo({ Outcome }), "Only these; may be repeated.")),
  ...historyFilter,
  eventId: Type.Optional(uuid("Only the delivery of the event with this id. A manual delivery belongs to no event.")),
  entityId: Type.Optional(uuid("Only deliveries of events about this entity. A manual delivery belongs to no event.")),
  idPrefix: Type.Optional(
    idPrefix(
      "Only deliveries of events whose id, or whose entity's id, begins with this. If very many do, Herald looks at a thousand of each.",
    ),
  ),
  deliveryId: Type.Optional(uuid("Only this delivery.")),
};

const part = partOf("Deliveries", { most: 100, usual: 50 });

export const DeliveryQuery = object("Query parameters of an endpoint's history.", { ...part, ...filters });
export type DeliveryQuery = Query<typeof DeliveryQuery>;

export const AllDeliveriesQuery = object("Query parameters of the history of all endpoints.", {
  ...part,
  endpointId: Type.Optional(uuid("Only deliveries to this endpoint.")),
  ...filters,
});
export type AllDeliveriesQuery = Query<typeof AllDeliveriesQuery>;
