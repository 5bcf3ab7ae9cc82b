import type { Catalogue, ProblemCode } from "@herald/contracts";
import { EVENT_SCHEMA_KINDS, type EventSchemaKind, eventSchema } from "@herald/contracts/schemas";
import { exampleType } from "../events/event-requests.ts";
import { problemResponses, requestId, textHeader } from "./responses.ts";

// The OpenAPI document's part of schema-routes.ts. These operations are not under the API's prefix, and need no token.

export type SchemaOperationId = "readEventSchema" | "readRequestSchema";

export const SCHEMAS_TAG = {
  name: "Schemas",
  description: "JSON Schemas of each event, for those who emit and those who receive. They are public.",
} as const;

const OPERATIONS: Record<EventSchemaKind, { operationId: SchemaOperationId; summary: string; description: string }> = {
  events: {
    operationId: "readEventSchema",
    summary: "Read the schema of an event, as product services publish it",
    description: "For product services, to check what they emit.",
  },
  requests: {
    operationId: "readRequestSchema",
    summary: "Read the schema of a request, as receivers get it",
    description: "For receivers, to check the body of a request, or to make types of it.",
  },
};

const PROBLEMS: readonly ProblemCode[] = [
  "route_not_found",
  "malformed_http",
  "method_not_allowed",
  "request_timeout",
  "expectation_failed",
  "headers_too_large",
  "internal_error",
];

/** @param basePath as in `/herald`; empty where the service is at the root */
export function schemaPaths(basePath: string, catalogue: Catalogue) {
  const entries = EVENT_SCHEMA_KINDS.map((kind) => [
    `/schemas/${kind}/{type}.json`,
    { get: operationOf(kind, basePath, catalogue) },
  ]);
  return Object.fromEntries(entries) as Record<string, { get: ReturnType<typeof operationOf> }>;
}

function operationOf(kind: EventSchemaKind, basePath: string, catalogue: Catalogue) {
  const eventType = exampleType(catalogue);
  const { $schema, $id, title, type } = eventSchema(kind, eventType, catalogue);
  const etag = { ETag: textHeader("Names this text of the schema: send it as `If-None-Match` the next time.") };
  return {
    ...OPERATIONS[kind],
    tags: [SCHEMAS_TAG.name],
    security: [],
    servers: [{ url: basePath === "" ? "/" : basePath, description: "This service." }],
    parameters: [
      {
        name: "type",
        in: "path",
        required: true,
        description: "The event's exact name.",
        schema: { type: "string", enum: Object.keys(catalogue) },
        example: eventType,
      },
    ],
    responses: {
      200: {
        description:
          "The JSON Schema (2020-12). It changes with Herald's version and its catalogue alone: caches may keep it for an hour.",
        headers: { ...requestId, ...etag },
        content: {
          "application/schema+json": {
            schema: { type: "object", description: "A JSON Schema." },
            example: { $schema, $id, title, type },
          },
        },
      },
      304: { description: "The caller has the text that `If-None-Match` names.", headers: { ...requestId, ...etag } },
      ...problemResponses(PROBLEMS),
    },
    "x-required-access": null,
  };
}
