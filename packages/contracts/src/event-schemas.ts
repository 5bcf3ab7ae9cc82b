import { businessEventSchema, eventPayloadSchema } from "./business-event.ts";
import { samplePayload } from "./event-samples.ts";
import { type Catalogue, DEFAULT_CATALOGUE } from "./event-types.ts";
import { escapeControls, type Schema } from "./json-schema.ts";

/** A type of event has two schemas: of the message that product services publish (`events`), and of the body that receivers get (`requests`). */
export const EVENT_SCHEMA_KINDS = ["events", "requests"] as const;
export type EventSchemaKind = (typeof EVENT_SCHEMA_KINDS)[number];

const KINDS = {
  events: {
    title: (type: string) => `${type}, as product services publish it`,
    description:
      "The message to the topic exchange of Herald's events: UTF-8 JSON of at most 256 KiB. Fields beyond these are kept.",
    contract: businessEventSchema,
    extra: { organizationId: "org-1" },
  },
  requests: {
    title: (type: string) => `${type}, as receivers get it`,
    description:
      "The body of a request to a webhook endpoint, once its signature is verified. Tolerate fields that you don't know. A " +
      "delivery that an admin sends by hand may hold any other JSON.",
    contract: eventPayloadSchema,
    extra: {},
  },
} as const;

/** The JSON Schema (2020-12) of one type of event. Its formats are the standard's. @throws Error if the catalogue has no such type */
export function eventSchema(kind: EventSchemaKind, type: string, catalogue: Catalogue = DEFAULT_CATALOGUE): Schema {
  const { title, description, contract, extra } = KINDS[kind];
  const { properties, required } = contract;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `urn:herald:schemas:${kind}:${type}`,
    title: title(type),
    description,
    type: "object",
    required,
    properties: {
      ...properties,
      type: { const: type, description: "The event's name." },
      data: dataSchemaOf(type, catalogue),
    },
    examples: [{ ...extra, ...samplePayload(type, catalogue) }],
  };
}

/** The schema of a type's `data`: the contract's, and beyond that the catalogue's. */
export function dataSchemaOf(type: string, catalogue: Catalogue): Schema {
  const { data } = businessEventSchema.properties as object as { data: Schema };
  const own = catalogue[type]?.dataSchema;
  if (own === undefined) return data;
  // References within a schema begin at the next address above them, which is its own one then.
  return { ...data, allOf: [{ $id: `urn:herald:schemas:data:${type}`, ...own }] };
}

/** Each of these schemas as a file: its path, as `events/RiskCreated.json`, and its text. */
export function eventSchemaFiles(catalogue: Catalogue = DEFAULT_CATALOGUE): Record<string, string> {
  const files = EVENT_SCHEMA_KINDS.flatMap((kind) =>
    Object.keys(catalogue).map((type) => [
      `${kind}/${type}.json`,
      escapeControls(`${JSON.stringify(eventSchema(kind, type, catalogue), null, 2)}\n`),
    ]),
  );
  return Object.fromEntries(files);
}
