import { type ApiLimits, DEFAULT_API_LIMITS, RECENT_DELIVERIES } from "./api-limits.ts";
import { OUTCOMES } from "./deliveries.ts";
import { EVENT_TYPES } from "./event-types.ts";

/** A JSON Schema (2020-12), as OpenAPI 3.1 has them. */
export type Schema = { readonly [keyword: string]: unknown };

const eventType: Schema = { type: "string", enum: EVENT_TYPES, description: "An event's exact name." };
const uuid = (description: string): Schema => ({ type: "string", format: "uuid", description });
const time = (description: string): Schema => ({ type: "string", format: "date-time", pattern: "Z$", description });
const text = (description: string): Schema => ({ type: "string", description });
const flag = (description: string): Schema => ({ type: "boolean", description });
const count = (description: string, maximum?: number): Schema => ({
  type: "integer",
  minimum: 0,
  ...(maximum !== undefined && { maximum }),
  description,
});
const listOf = (items: Schema, description: string, more: Schema = {}): Schema => ({
  type: "array",
  items,
  description,
  ...more,
});
const orNull = (schema: Schema): Schema =>
  "enum" in schema
    ? { ...schema, type: [schema.type, "null"], enum: [...(schema.enum as unknown[]), null] }
    : { ...schema, type: [schema.type, "null"] };
const refTo = (name: SchemaName): Schema => ({ $ref: `#/components/schemas/${name}` });
const refOrNull = (name: SchemaName, description: string): Schema => ({
  anyOf: [refTo(name), { type: "null" }],
  description,
});

/** An object whose properties are all there, but for those named optional. */
function object(description: string, properties: Record<string, Schema>, optional: string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", description, required, properties };
}

export type SchemaName =
  | "WebhookEndpointSummary"
  | "WebhookDeliverySummary"
  | "CreateWebhookRequest"
  | "EditWebhookRequest"
  | "DeleteWebhookRequest"
  | "CheckWebhookRequest"
  | "CheckWebhookResponse"
  | "DeliverRequest"
  | "SaveWebhookResponse"
  | "SessionInfo"
  | "EventTypeInfo"
  | "EndpointOverview"
  | "EndpointDetails"
  | "HourOfDeliveries"
  | "FailedAttempt"
  | "DeliveryListItem"
  | "DeliveryPage"
  | "DeliveryDetails"
  | "DeliveryAttemptInfo"
  | "DeliveryQuery"
  | "Problem"
  | "FieldProblem";

/**
 * The schemas of the management API, by the names that they have in the OpenAPI document. They refer to each other by
 * `#/components/schemas/...`.
 *
 * Some formats are Herald's own. Whoever validates requests gives them their meaning; the descriptions say it in words:
 * `webhook-name`, `webhook-url`, `json-text`, `endpoint-version` and `delivery-cursor`.
 */
export function apiSchemas(limits: ApiLimits = DEFAULT_API_LIMITS): Record<SchemaName, Schema> {
  const webhookVersion: Schema = {
    type: "string",
    format: "endpoint-version",
    description: "Opaque Base64. Changes whenever the endpoint's configuration does, automatic disabling included.",
    examples: ["AAAAAAAAAAE="],
  };
  const saved = {
    name: {
      type: "string",
      format: "webhook-name",
      minLength: 1,
      maxLength: limits.nameCharacters,
      description: "What people call the endpoint. Not blank, without control characters.",
      examples: ["Billing"],
    },
    url: {
      type: "string",
      format: "webhook-url",
      maxLength: limits.urlCharacters,
      description:
        "Absolute HTTPS URL of the receiver: without credentials, not of a loopback, private or reserved address, and the " +
        "final one, since redirects aren't followed. Saving doesn't connect to it.",
      examples: ["https://hooks.example.com/herald"],
    },
    enabled: flag("The Active flag. False pauses the endpoint; true resumes it and resets its failure count."),
    rotateSecret: {
      type: "boolean",
      default: false,
      description:
        "True replaces the signing secret; the old one ends at once. A new endpoint gets a secret in either case.",
    },
    events: {
      type: "array",
      items: eventType,
      minItems: 1,
      description: "Names of the events to send, at least one. There are no wildcards. A repeated name counts once.",
    },
  } satisfies Record<string, Schema>;

  const deliverySummary = {
    id: uuid("The delivery; kept across retries and sent as the delivery-id header."),
    businessEventId: uuid("The business event; absent for manual deliveries."),
    eventType,
    attemptCount: count("Attempts made so far.", 5),
    statusCode: orNull({
      type: "integer",
      minimum: 100,
      maximum: 599,
      description: "HTTP status of the latest attempt, 503 for network errors and timeouts; null before the first.",
    }),
    succeeded: flag("True when the latest attempt got a 2xx."),
    errorSummary: orNull(text("Why the latest attempt failed; null where it succeeded or none was made.")),
    attemptedAtUtc: orNull(time("When the latest attempt began; null before the first.")),
  };

  const endpoint = {
    id: uuid("The endpoint."),
    name: text("What people call the endpoint."),
    url: text("Absolute HTTPS URL of the receiver."),
    enabled: flag("The Active flag."),
    consecutiveFailures: count("Failed attempts since the last success."),
    events: listOf(eventType, "Names of the events that are sent to it."),
    version: webhookVersion,
  };

  const overview = {
    ...endpoint,
    disabledReason: orNull({
      type: "string",
      enum: ["paused", "failures"],
      description: "`paused` by an admin, or disabled by Herald after `failures`; null while enabled.",
    }),
    disabledAtUtc: orNull(time("Since when it is disabled; null while enabled.")),
    createdAtUtc: time("When it was created."),
    updatedAtUtc: time("When its configuration last changed."),
    unfinished: object("Deliveries that are neither succeeded nor exhausted; each count stops at 10,000.", {
      pending: count("With an attempt due, now or later.", 10_000),
      parked: count("Set aside because the endpoint is disabled.", 10_000),
    }),
    lastDelivery: refOrNull("WebhookDeliverySummary", "The newest delivery; null before the first."),
    last24Hours: listOf(
      refTo("HourOfDeliveries"),
      "24 hours, oldest first, the last one still running. They count the organization's 20,000 newest deliveries, so on " +
        "busy days the earliest hours can be short.",
      { minItems: 24, maxItems: 24 },
    ),
  };

  const attempt = {
    attemptedAtUtc: time("When it began."),
    durationMs: count("How long it took, in milliseconds."),
    statusCode: count("HTTP status; 503 for network errors and timeouts.", 599),
    errorSummary: orNull(text("Why it failed; null where it succeeded.")),
    responseExcerpt: orNull(text("The first KiB of the response; null where there was none.")),
  };

  const listItem = {
    ...deliverySummary,
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

  return {
    WebhookDeliverySummary: object("A delivery by its latest attempt.", deliverySummary, ["businessEventId"]),
    WebhookEndpointSummary: object("A configured receiver, with its share of the most recent deliveries.", {
      ...endpoint,
      deliveries: listOf(
        refTo("WebhookDeliverySummary"),
        `The endpoint's share of the organization's ${RECENT_DELIVERIES} most recent deliveries, newest first.`,
        { maxItems: RECENT_DELIVERIES },
      ),
    }),
    CreateWebhookRequest: object(
      "A new endpoint.",
      { ...saved, version: { type: "null", description: "Null, or left out." } },
      ["rotateSecret", "version"],
    ),
    EditWebhookRequest: object(
      "All settings of an endpoint, changed or not.",
      { ...saved, version: { ...webhookVersion, description: "The latest version that the client has received." } },
      ["rotateSecret"],
    ),
    DeleteWebhookRequest: object("Which state of the endpoint is meant.", {
      version: { ...webhookVersion, description: "The latest version that the client has received." },
    }),
    SaveWebhookResponse: object("The endpoint as it is now.", {
      endpoint: refTo("WebhookEndpointSummary"),
      signingSecret: orNull(
        text("The signing secret, where this request made one; it is shown this once. Null where the secret was kept."),
      ),
    }),
    DeliverRequest: object("A payload to send to one endpoint.", {
      eventType: { ...eventType, description: "An event that the endpoint is subscribed to." },
      payloadJson: {
        type: "string",
        format: "json-text",
        description:
          `Valid JSON as text, at most ${limits.payloadBytes} bytes of UTF-8. It is signed and sent as it is, byte for ` +
          "byte, without an envelope.",
        examples: ['{"ping": true}'],
      },
    }),
    CheckWebhookRequest: object("The fields of a create or edit that are known so far.", saved, Object.keys(saved)),
    CheckWebhookResponse: object("What saving would complain about.", {
      errors: listOf(refTo("FieldProblem"), "Every bad field; empty where there is none."),
    }),
    SessionInfo: object("Who calls, what they may do, and what this service allows.", {
      subject: text("The token's subject."),
      organizationId: orNull(text("The organization that the token is for; null where it names none.")),
      mayView: flag("May read."),
      mayManage: flag("May create, edit and deliver."),
      mayDelete: flag("May delete, which needs no entitlement."),
      missing: listOf(
        text("What, in words."),
        "What stands between the caller and managing; empty where nothing does.",
      ),
      expiresAtUtc: time("When the token ends."),
      limits: object("Sizes, counts and times.", {
        nameCharacters: count("Longest name of an endpoint."),
        urlCharacters: count("Longest URL of an endpoint."),
        payloadBytes: count("Largest payload of a manual delivery."),
        endpoints: count("Endpoints that the organization may have."),
        maxAttempts: count("Attempts that a delivery gets."),
        disableAfterFailures: count("Failures in a row that disable an endpoint."),
        attemptTimeoutMs: count("How long one attempt may take."),
        retentionDays: count("How long finished deliveries are kept."),
      }),
      headerPrefix: text("First part of the names of the headers that receivers get."),
    }),
    EventTypeInfo: object("One of the events that an endpoint can subscribe to.", {
      name: eventType,
      emittedWhen: text("When it is emitted."),
      remark: orNull(text("What one should know before subscribing to it.")),
      sample: text("A payload such as receivers get, as JSON text."),
    }),
    EndpointOverview: object("An endpoint, and how it fares.", overview),
    EndpointDetails: object("One endpoint in full.", {
      ...overview,
      failureRun: listOf(
        refTo("FailedAttempt"),
        "The failures since the last success, oldest first: where `disabledReason` is `failures`, the attempts that did it.",
      ),
      onResume: {
        ...object("What goes out when the endpoint is enabled again; null while it is enabled.", {
          parked: count("Deliveries set aside, counted to 10,000.", 10_000),
          missedEvents: count(
            "Events of the last seven days that came while it was disabled, counted to 10,000.",
            10_000,
          ),
          missedEventsIsMinimum: flag("There are more than was counted."),
        }),
        type: ["object", "null"],
      },
    }),
    HourOfDeliveries: object("The deliveries created within one hour, by what has become of them so far.", {
      startUtc: time("The hour's beginning."),
      succeeded: count("Delivered."),
      waiting: count("Without an attempt so far."),
      failing: count("Failed so far, and may be attempted again."),
      exhausted: count("Failed for good."),
    }),
    FailedAttempt: object("An attempt of the run of failures that an endpoint is in.", {
      deliveryId: uuid("The delivery."),
      attemptNumber: { ...count("Which of the delivery's attempts.", 5), minimum: 1 },
      eventType,
      ...attempt,
    }),
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
        attempts: listOf(refTo("DeliveryAttemptInfo"), "Oldest first.", { maxItems: 5 }),
      },
      ["businessEventId"],
    ),
    DeliveryAttemptInfo: object("One signed HTTP request.", {
      number: { ...count("Which of the delivery's attempts.", 5), minimum: 1 },
      ...attempt,
      timestamp: text("The text of the timestamp header: with the body, what the signature was made of."),
      headers: listOf(
        { type: "array", prefixItems: [text("Name."), text("Value.")], minItems: 2, maxItems: 2 },
        "As sent, but for the signatures, which aren't stored.",
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
    Problem: object(
      "What went wrong (RFC 9457).",
      {
        type: { type: "string", pattern: "^urn:herald:problem:", description: "Stable URN of the kind of problem." },
        title: text("The kind of problem in a few words."),
        status: { type: "integer", minimum: 400, maximum: 599, description: "The response's status." },
        code: text("Stable name of the kind of problem, for programs."),
        detail: text("What happened this time, and what to do about it."),
        requestId: text("Names this response in Herald's log; for support."),
        errors: listOf(refTo("FieldProblem"), "Every bad field, where fields are the reason."),
        missing: listOf(text("What, in words."), "Everything that the caller lacks, where the status is 403."),
        signInUrl: text("Where a person signs in, where the status is 401."),
      },
      ["errors", "missing", "signInUrl"],
    ),
    FieldProblem: object("One field that can't be accepted.", {
      pointer: text('JSON pointer into the body, "" for the body itself; for a query parameter "?" and its name.'),
      code: text("Stable name of what is wrong, for programs."),
      detail: text("What is wrong, and what would be right."),
    }),
  };
}
