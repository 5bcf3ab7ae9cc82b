import type { HeaderSettings } from "@herald/common/security/attempt-headers";
import { type ApiLimits, type Catalogue, DEFAULT_CATALOGUE } from "@herald/contracts";
import { apiSchemas, type Schema, type SchemaName } from "@herald/contracts/schemas";
import { permissionsFor } from "../authentication/access.ts";
import { DEFAULT_HEADERS, EventPayload, eventRequests, RECEIVER_TAG } from "../events/event-requests.ts";
import { KEY_PATTERN, MAX_KEY_CHARACTERS } from "../idempotency/keyed-request.ts";
import { API_PREFIX, type Operation, type OperationId, operationsByPath, parametersOf } from "../operations.ts";
import { componentSchemas, withPatterns } from "./component-schemas.ts";
import { type OpenApiResponse, problemResponses, problemsOf, rateHeaders, refTo, requestId } from "./responses.ts";

export const TAGS = [
  { name: "Endpoints", description: "The receivers that the organization configured, and how they fare." },
  {
    name: "Deliveries",
    description: "Deliveries to an endpoint and their results, sending by hand, and sending again.",
  },
  { name: "Events", description: "The events that an endpoint can subscribe to, and those that happened." },
  { name: "Session", description: "Who calls, and what they may do." },
] as const;

type Tag = (typeof TAGS)[number]["name"];

export function tagOf({ path }: { path: string }): Tag {
  if (/\/(?:deliver|deliveries|resends)\b/.test(path)) return "Deliveries";
  if (path.startsWith("/event")) return "Events";
  return path.startsWith("/session") ? "Session" : "Endpoints";
}

export type OpenApiDocument = ReturnType<typeof openApiDocument>;
export type OpenApiOperation = ReturnType<typeof describe>;

export interface DocumentOptions {
  limits: ApiLimits;
  catalogue?: Catalogue;
  basePath: string;
  cookieName: string;
  headers?: HeaderSettings;
}

/** Grows when the API does; SPEC has no scheme of versions (SPEC 9.3). */
const API_VERSION = "1.0.0";

/** The OpenAPI 3.1 document of this service as it is configured: made of the schemas that requests are validated with. */
export function openApiDocument({
  limits,
  catalogue = DEFAULT_CATALOGUE,
  basePath,
  cookieName,
  headers = DEFAULT_HEADERS,
}: DocumentOptions) {
  const schemas = apiSchemas(limits, catalogue);
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const [path, operations] of operationsByPath()) {
    paths[path] = Object.fromEntries(
      operations.map(([id, operation]) => [operation.method, describe(id, operation, schemas)]),
    );
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Herald management API",
      version: API_VERSION,
      description:
        "Webhook endpoints of an organization: list, create, edit, pause, delete, deliver by hand, and see what became of " +
        "each delivery. Every error is a problem document (RFC 9457) with a stable `code`. Unknown query parameters " +
        "and unknown fields of a body are refused, but for fields of an endpoint's settings, of its deletion and of a manual delivery; " +
        "clients should ignore fields that they don't know. A request may name the organization that it is meant for in the header " +
        "`Herald-Organization`, as percent-encoded UTF-8: with a token of another organization it is refused.",
      contact: { name: "The operator of this service" },
      license: { name: "All rights reserved", identifier: "LicenseRef-UNLICENSED" },
    },
    servers: [{ url: basePath + API_PREFIX, description: "This service." }],
    tags: [...TAGS, RECEIVER_TAG],
    security: securityFor(null),
    paths,
    webhooks: eventRequests(headers, catalogue),
    components: {
      schemas: { ...componentSchemas(schemas), EventPayload } as Record<string, Schema>,
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "A signed-in user's access token. API keys aren't accepted.",
        },
        session: {
          type: "apiKey",
          in: "cookie",
          name: cookieName,
          description: "The same token, as the admin page has it. Changes then also need a matching `Origin`.",
        },
      },
    },
  };
}

/** Either scheme, with the permissions that its token has to hold. */
function securityFor(access: Operation["access"]): Record<string, readonly string[]>[] {
  const permissions = access === null ? [] : permissionsFor(access);
  return [{ bearer: permissions }, { session: permissions }];
}

function describe(id: OperationId, operation: Operation, schemas: Record<SchemaName, Schema>) {
  const { summary, description, body, access, takesIdempotencyKey } = operation;
  const parameters = [
    ...pathParameters(operation),
    ...queryParameters(operation, schemas),
    ...(takesIdempotencyKey ? [idempotencyKey] : []),
  ];
  return {
    operationId: id,
    summary,
    description,
    tags: [tagOf(operation)],
    security: securityFor(access),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: refTo(body) } },
      },
    }),
    responses: {
      [operation.success.status]: successResponse(operation),
      ...problemResponses(problemsOf(operation)),
    } as Record<string, OpenApiResponse>,
    "x-required-access": access,
  };
}

function successResponse({ success, rate }: Operation): OpenApiResponse {
  const { status, description } = success;
  const headers = { ...requestId, ...(rate && rateHeaders) };
  if (status === 204) return { description, headers };
  const schema = success.isList ? { type: "array", items: refTo(success.schema) } : refTo(success.schema);
  return { description, headers, content: { "application/json": { schema } } };
}

const PARAMETERS: Partial<Record<string, string>> = { deliveryId: "The delivery.", key: "The event's key." };

function pathParameters(operation: Operation): Schema[] {
  return parametersOf(operation).map((name) => ({
    name,
    in: "path",
    required: true,
    description: PARAMETERS[name] ?? "The endpoint.",
    schema: { type: "string", format: "uuid" },
  }));
}

function queryParameters({ query }: Operation, schemas: Record<string, Schema>): Schema[] {
  if (query === undefined) return [];
  const properties = schemas[query]?.properties as Record<string, Schema>;
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    description,
    schema: withPatterns(schema),
  }));
}

const idempotencyKey: Schema = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "With a key, the request is done once however often it comes. If the same caller repeats the same request with the same key, " +
    "nothing is done, and the answer says what there is now, without a signing secret. A request that was refused, or failed, may " +
    "come again with its key. Keys are known as long as changes are kept.",
  schema: { type: "string", minLength: 1, maxLength: MAX_KEY_CHARACTERS, pattern: KEY_PATTERN },
  example: "8e03978e-40d5-43e8-bc93-6894a57f9324",
};
