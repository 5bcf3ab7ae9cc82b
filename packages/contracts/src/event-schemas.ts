import { businessEventSchema, eventPayloadSchema } from "./business-event.ts";
import { samplePayload } from "./event-samples.ts";
import { EVENT_TYPES, type EventType } from "./event-types.ts";
import { escapeControls, type Schema } from "./json-schema.ts";

/**
 * The two things that a type of event has a schema of: what product services publish of it (`events`), and the body of the
 * request that receivers get of it (`requests`).
 */
export const EVENT_SCHEMA_KINDS = ["events", "requests"] as const;
export type EventSchemaKind = (typeof EVENT_SCHEMA_KINDS)[number];

const KINDS = {
  events: {
    title: (type: EventType) => `${type}, as product services publish it`,
    description:
      "The message to the topic exchange of Herald's events: UTF-8 JSON of at most 256 KiB. Fields beyond these are kept.",
    contract: businessEventSchema,
    sample: (type: EventType) => ({ organizationId: "org-1", ...samplePayload(type) }),
  },
  requests: {
    title: (type: EventType) => `${type}, as receivers get it`,
    description:
      "The body of a request to a webhook endpoint, once its signature is verified. Tolerate fields that you don't know. A " +
      "delivery that an admin sends by hand may hold any other JSON.",
    contract: eventPayloadSchema,
    sample: samplePayload,
  },
} as const;

/** The JSON Schema (2020-12) of one type of event. Its formats are the standard's. */
export function eventSchema(kind: EventSchemaKind, type: EventType): Schema {
  const { title, description, contract, sample } = KINDS[kind];
  const { properties, required } = contract;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `urn:herald:schemas:${kind}:${type}`,
    title: title(type),
    description,
    type: "object",
    required,
    properties: { ...properties, type: { const: type, description: "The event's name." } },
    examples: [sample(type)],
  };
}

/** Each of these schemas as a file: its path, as `events/RiskCreated.json`, and its text. */
export function eventSchemaFiles(): Record<string, string> {
  const files = EVENT_SCHEMA_KINDS.flatMap((kind) =>
    EVENT_TYPES.map((type) => [
      `${kind}/${type}.json`,
      escapeControls(`${JSON.stringify(eventSchema(kind, type), null, 2)}\n`),
    ]),
  );
  return Object.fromEntries(files);
}
