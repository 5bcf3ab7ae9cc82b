import { sharedSettings } from "@herald/common/config/common-settings";
import type { HeaderSettings } from "@herald/common/security/attempt-headers";
import { type Catalogue, type EventTypeInfo, samplePayload } from "@herald/contracts";
import { dataSchemaOf, eventPayloadSchema, type Schema } from "@herald/contracts/schemas";

// The requests that receivers get, as the `webhooks` of OpenAPI 3.1. docs/receiving-webhooks.md says how to verify and answer them.

/** The headers of attempts, unless settings change them. */
export const DEFAULT_HEADERS: HeaderSettings = {
  headerPrefix: sharedSettings.HEADER_PREFIX.default,
  standardWebhooks: sharedSettings.STANDARD_WEBHOOKS.default,
};

/** The body of an automatic delivery: the event without its organization, which the receiver knows by the endpoint. */
export const EventPayload: Schema = {
  type: "object",
  description: "A business event, as receivers get it. Tolerate fields that you don't know.",
  required: eventPayloadSchema.required,
  properties: {
    ...eventPayloadSchema.properties,
    type: { $ref: "#/components/schemas/EventType", description: "The event's name." },
  },
};

export function eventRequests(headers: HeaderSettings, catalogue: Catalogue): Record<string, { post: Schema }> {
  const parameters = headerParameters(headers);
  return Object.fromEntries(
    eventTypesOf(catalogue).map(({ name, emittedWhen, remark, sample }) => {
      const data = catalogue[name]?.dataSchema && { data: dataSchemaOf(name, catalogue) };
      const schema = { $ref: "#/components/schemas/EventPayload", properties: { type: { const: name }, ...data } };
      const post = {
        operationId: `on${name}`,
        summary: `${name}: ${emittedWhen}`,
        description: [remark, ABOUT].filter((each) => each !== null).join(" "),
        tags: [RECEIVER_TAG.name],
        security: [],
        parameters,
        requestBody: {
          required: true,
          content: { "application/json": { schema, example: JSON.parse(sample) as unknown } },
        },
        responses: {
          "2XX": { description: "The receiver has the event, and the delivery ends." },
          "4XX": { description: "The attempt failed, as with every answer but 2xx; the delivery is attempted again." },
        },
      };
      return [name, { post }];
    }),
  );
}

export const RECEIVER_TAG = {
  name: "Receivers",
  description: "The requests that an endpoint's receiver gets. Herald sends them.",
} as const;

const ABOUT =
  "Verify the signature over the exact bytes of the body before you parse it, answer within 15 seconds, and handle an event " +
  "that comes twice only once: compare endpoint and `id` of the body. A manual delivery has the same headers, and any JSON as its body.";

/** In the order in which they are sent. */
export function headerParameters({ headerPrefix, standardWebhooks }: HeaderSettings): Schema[] {
  const own = [
    header(
      `${headerPrefix}-Signature`,
      "HMAC-SHA256 over the timestamp's text, a dot and the body's bytes; the key is the signing secret's text as it stands.",
      { pattern: "^sha256=[0-9a-f]{64}$" },
    ),
    header(
      `${headerPrefix}-Timestamp`,
      "When the attempt began, in seconds since 1970. Refuse what is more than 300 s away.",
      { pattern: "^[0-9]{1,16}$" },
    ),
    header(`${headerPrefix}-Event`, "The event's name. It isn't signed: trust the body's `type`."),
    header(`${headerPrefix}-Delivery-Id`, "The delivery; the same for each of its attempts. It isn't signed.", {
      format: "uuid",
    }),
  ];
  const standard = [
    header("webhook-id", "The delivery, as Standard Webhooks names it."),
    header("webhook-timestamp", "The timestamp, as Standard Webhooks names it."),
    header("webhook-signature", "The signature of Standard Webhooks: `v1,` and Base64."),
  ];
  const trace = { ...header("traceparent", "W3C trace context, if the event has one."), required: false };
  return [...own, ...(standardWebhooks ? standard : []), trace];
}

function header(name: string, description: string, rules: Schema = {}): Schema {
  return { name, in: "header", required: true, description, schema: { type: "string", ...rules } };
}

/** A catalogue's events in words, for the admin who chooses among them. */
export function eventTypesOf(catalogue: Catalogue): EventTypeInfo[] {
  return Object.entries(catalogue).map(([name, { entityType, emittedWhen, remark = null }]) => ({
    name,
    entityType,
    emittedWhen,
    remark,
    sample: JSON.stringify(samplePayload(name, catalogue), null, 2),
  }));
}
