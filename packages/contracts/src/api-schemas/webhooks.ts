import { type ApiLimits, RECENT_DELIVERIES } from "../api-limits.ts";
import { count, eventType, flag, listOf, object, orNull, refTo, type Schema, text, uuid } from "./schema.ts";

const webhookVersion: Schema = {
  type: "string",
  format: "endpoint-version",
  description: "Opaque Base64. Changes whenever the endpoint's configuration does, automatic disabling included.",
  examples: ["AAAAAAAAAAE="],
};

export const endpoint = {
  id: uuid("The endpoint."),
  name: text("What people call the endpoint."),
  url: text("Absolute HTTPS URL of the receiver."),
  enabled: flag("The Active flag."),
  consecutiveFailures: count("Failed attempts since the last success."),
  events: listOf(eventType, "Names of the events that are sent to it."),
  version: webhookVersion,
};

export const webhookSchemas = {
  WebhookEndpointSummary: object("A configured receiver, with its share of the most recent deliveries.", {
    ...endpoint,
    deliveries: listOf(
      refTo("WebhookDeliverySummary"),
      `The endpoint's share of the organization's ${RECENT_DELIVERIES} most recent deliveries, newest first.`,
      { maxItems: RECENT_DELIVERIES },
    ),
  }),
  SaveWebhookResponse: object("The endpoint as it is now.", {
    endpoint: refTo("WebhookEndpointSummary"),
    signingSecret: orNull(
      text("The signing secret, where this request made one; it is shown this once. Null where the secret was kept."),
    ),
  }),
  DeleteWebhookRequest: object("Which state of the endpoint is meant.", {
    version: { ...webhookVersion, description: "The latest version that the client has received." },
  }),
  CheckWebhookResponse: object("What saving would complain about.", {
    errors: listOf(refTo("FieldProblem"), "Every bad field; empty where there is none."),
  }),
} satisfies Record<string, Schema>;

/** What clients send, whose bounds are settings. */
export function saveSchemas(limits: ApiLimits) {
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

  return {
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
    CheckWebhookRequest: object("The fields of a create or edit that are known so far.", saved, Object.keys(saved)),
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
  } satisfies Record<string, Schema>;
}
