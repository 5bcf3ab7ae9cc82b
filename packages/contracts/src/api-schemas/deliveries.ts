import { OUTCOMES } from "../deliveries.ts";
import { FAILURE_KINDS } from "../failure-kinds.ts";
import { count, eventType, flag, listOf, object, orNull, refTo, type Schema, text, time, uuid } from "./schema.ts";

const deliverySummary = {
  id: uuid("The delivery; kept across retries and sent as the delivery-id header."),
  businessEventId: uuid("The business event; absent for manual deliveries."),
  eventType,
  attemptCount: count("Attempts made so far; 5 at the most, unless the service is set otherwise."),
  statusCode: orNull({
    type: "integer",
    minimum: 100,
    maximum: 999,
    description: "HTTP status of the latest attempt, 503 for network errors and timeouts; null before the first.",
  }),
  succeeded: flag("True when the latest attempt got a 2xx."),
  errorSummary: orNull(text("Why the latest attempt failed; null where it succeeded or none was made.")),
  attemptedAtUtc: orNull(time("When the latest attempt began; null before the first.")),
};

const failureKind = orNull({
  type: "string",
  enum: FAILURE_KINDS,
  description:
    "Why it failed, for programs; null where `errorSummary` is. For `http_status` see `statusCode`. Kinds may be added: " +
    "treat one that you don't know as `other`.",
});

export const attempt = {
  attemptedAtUtc: time("When it began."),
  durationMs: count("How long it took, in milliseconds."),
  statusCode: { ...count("HTTP status; 503 for network errors and timeouts.", 999), minimum: 100 },
  errorSummary: orNull(text("Why it failed; null where it succeeded.")),
  failureKind,
  responseExcerpt: orNull(text("The first KiB of the response; null where there was none.")),
};

const listItem = {
  ...deliverySummary,
  failureKind,
  state: {
    type: "string",
    enum: ["pending", "parked", "succeeded", "exhausted"],
    description:
      "`pending`: an attempt is due, now or later; `parked`: set aside because the endpoint is disabled; `succeeded` and " +
      "`exhausted`: nothing more happens.",
  },
  inFlight: flag("An attempt is under way right now."),
  createdAtUtc: time("When the delivery came to be."),
  nextAttemptAtUtc: orNull(time("When the next attempt is due; null where none is scheduled.")),
  durationMs: orNull(count("How long the latest attempt took, in milliseconds; null before the first.")),
};

export const deliverySchemas = {
  WebhookDeliverySummary: object("A delivery by its latest attempt.", deliverySummary, ["businessEventId"]),
  DeliveryListItem: object("A row of an endpoint's history.", listItem, ["businessEventId"]),
  DeliveryPage: object("A part of an endpoint's history, newest first.", {
    deliveries: listOf(
      refTo("DeliveryListItem"),
      "May be fewer than asked for, and even none, while `nextCursor` says that there is more.",
      { maxItems: 100 },
    ),
    nextCursor: orNull(text("Send it as `cursor` for the next part; null where the history ends.")),
  }),
  DeliveryDetails: object(
    "A delivery with what was sent and what came of each attempt.",
    {
      ...listItem,
      body: text("The request body, character for character."),
      attempts: listOf(refTo("DeliveryAttemptInfo"), "Oldest first."),
    },
    ["businessEventId"],
  ),
  DeliveryAttemptInfo: object("One signed HTTP request.", {
    number: { ...count("Which of the delivery's attempts."), minimum: 1 },
    ...attempt,
    timestamp: text("The text of the timestamp header: with the body, what the signature was made of."),
    headers: listOf(
      { type: "array", prefixItems: [text("Name."), text("Value.")], minItems: 2, maxItems: 2 },
      "As sent, in their order. What isn't stored is missing: `Host`, the signatures, and the trace context of an attempt " +
        "that was interrupted.",
    ),
  }),
  DeliveryQuery: {
    type: "object",
    description: "Query parameters of an endpoint's history.",
    properties: {
      limit: { type: "integer", minimum: 1, maximum: 100, default: 50, description: "Deliveries to answer with." },
      cursor: { type: "string", format: "delivery-cursor", description: "`nextCursor` of the part before." },
      outcome: listOf(
        { type: "string", enum: OUTCOMES },
        "Only these; may be repeated. `succeeded`; `waiting` (no attempt so far); `failing` (failed so far, may be " +
          "attempted again); `exhausted`.",
      ),
      eventType: listOf(eventType, "Only these events; may be repeated."),
      from: { type: "string", format: "date-time", description: "Created at this time or later." },
      to: { type: "string", format: "date-time", description: "Created before this time." },
    },
  },
} satisfies Record<string, Schema>;
