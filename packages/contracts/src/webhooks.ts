import { type Static, Type } from "typebox";
import { WebhookDeliverySummary } from "./deliveries.ts";
import { EventType } from "./enums.ts";
import { count, flag, listOf, object, orNull, refTo, text, uuid } from "./json-schema.ts";
import { FieldProblem } from "./problems.ts";
import { MAX_HEADER_VALUE, MAX_HEADERS, RECENT_DELIVERIES } from "./rules.ts";
import type { ApiLimits } from "./session.ts";

export const version = (description: string) =>
  text(description, { format: "endpoint-version", examples: ["AAAAAAAAAAE="] });
const latestVersion = version("The latest version that the client has received.");

export const endpoint = {
  id: uuid("The endpoint."),
  name: text("What people call the endpoint.", { examples: ["Billing"] }),
  url: text("Absolute HTTPS URL of the receiver.", { examples: ["https://hooks.example.com/herald"] }),
  enabled: flag("The Active flag."),
  consecutiveFailures: count("Failed attempts since the last success."),
  events: listOf(refTo({ EventType }), "Names of the events that are sent to it."),
  version: version("Opaque Base64. Changes whenever the endpoint's configuration does, automatic disabling included."),
};

/** SPEC 2.1. */
export const WebhookEndpointSummary = object("A configured receiver, with its share of the most recent deliveries.", {
  ...endpoint,
  deliveries: listOf(
    refTo({ WebhookDeliverySummary }),
    `The endpoint's share of the organization's ${RECENT_DELIVERIES} most recent deliveries, newest first.`,
    { maxItems: RECENT_DELIVERIES },
  ),
});
export type WebhookEndpointSummary = Static<typeof WebhookEndpointSummary>;

/** Answer to POST and PUT (SPEC 4.1). */
export const SaveWebhookResponse = object("The endpoint as it is now.", {
  endpoint: refTo({ WebhookEndpointSummary }),
  signingSecret: orNull(
    text(
      "The signing secret, if this request made one; it is shown this once. Null if the secret was kept, and if the " +
        "request repeats an earlier one with its idempotency key.",
      { examples: ["ZA2fV388tAOL2LlVIf68kfP0wgx+i5DOkQV1lldQ5G0="] },
    ),
  ),
});
export type SaveWebhookResponse = Static<typeof SaveWebhookResponse>;

/** Body of DELETE (SPEC 4.1). */
export const DeleteWebhookRequest = object("Which state of the endpoint is meant.", { version: latestVersion });
export type DeleteWebhookRequest = Static<typeof DeleteWebhookRequest>;

export const CheckWebhookResponse = object("What saving would complain about.", {
  errors: listOf(refTo({ FieldProblem }), "Every bad field; empty if there is none."),
});
export type CheckWebhookResponse = Static<typeof CheckWebhookResponse>;

const ownHeaders = <Value extends string | null>(type: string | string[], kept: string) =>
  Type.Optional(
    Type.Unsafe<Record<string, Value> | null>({
      type: ["object", "null"],
      description: `The receiver's own headers, at most ${MAX_HEADERS}: names and values, which go along with each attempt and aren't signed. ${kept}No value is ever shown again.`,
      maxProperties: MAX_HEADERS,
      propertyNames: { type: "string", format: "header-name", examples: ["Authorization"] },
      additionalProperties: {
        type,
        format: "header-value",
        maxLength: MAX_HEADER_VALUE,
        examples: ["Bearer 0123456789"],
      },
    }),
  );
const editedHeaders = ownHeaders<string | null>(
  ["string", "null"],
  "If they are left out, all stay as they are; `{}` and null remove all. A null in place of a value keeps what is stored under that " +
    "name, if the URL stays on its server. ",
);

/** The bodies of requests; their bounds are settings (SPEC 4.1). */
export function saveSchemas(limits: ApiLimits) {
  const name = text(
    "What people call the endpoint. Not blank, without control characters and characters that can't be seen.",
    {
      format: "webhook-name",
      minLength: 1,
      maxLength: limits.nameCharacters,
      examples: ["Billing"],
    },
  );
  const url = text(
    "Absolute HTTPS URL of the receiver: without credentials, not of a loopback, private or reserved address, and the " +
      "final one, since redirects aren't followed. Saving doesn't connect to it.",
    { format: "webhook-url", maxLength: limits.urlCharacters, examples: ["https://hooks.example.com/herald"] },
  );
  const settings = {
    name,
    url,
    enabled: flag("The Active flag. False pauses the endpoint; true resumes it and resets its failure count."),
    rotateSecret: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "True replaces the signing secret; the old one ends at once. A new endpoint gets a secret in either case.",
      }),
    ),
    events: listOf(
      refTo({ EventType }),
      "Names of the events to send, at least one. There are no wildcards. A repeated name counts once.",
      { minItems: 1 },
    ),
  };
  return {
    CreateWebhookRequest: object("A new endpoint.", {
      ...settings,
      headers: ownHeaders<string>("string", ""),
      version: Type.Optional(
        Type.Null({ description: "Null, or left out: a new endpoint has no version yet, and any text is refused." }),
      ),
    }),
    EditWebhookRequest: object("All settings of an endpoint, changed or not.", {
      ...settings,
      headers: editedHeaders,
      version: latestVersion,
    }),
    CheckWebhookRequest: Type.Partial(Type.Object({ ...settings, headers: editedHeaders }), {
      description: "The fields of a create or edit that are known so far.",
      additionalProperties: false,
    }),
    DeliverRequest: object("A payload to send to one endpoint.", {
      eventType: refTo({ EventType }, "An event that the endpoint is subscribed to."),
      payloadJson: text(
        `Valid JSON as text, at most ${limits.payloadBytes} bytes of UTF-8. It is signed and sent as it is, byte for ` +
          "byte, without an envelope.",
        { format: "json-text", contentMediaType: "application/json", examples: ['{"ping": true}'] },
      ),
    }),
  };
}

type Requests = ReturnType<typeof saveSchemas>;
type Create = Static<Requests["CreateWebhookRequest"]>;
type Edit = Static<Requests["EditWebhookRequest"]>;

/** Body of POST and PUT: `version` is null or absent on create, the latest version on edit. */
export type SaveWebhookRequest = Omit<Edit, "version"> & { version?: Create["version"] | Edit["version"] };
/** Body of a check. Additive to SPEC. */
export type CheckWebhookRequest = Static<Requests["CheckWebhookRequest"]>;
export type DeliverRequest = Static<Requests["DeliverRequest"]>;
