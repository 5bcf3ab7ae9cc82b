import type { HeaderSettings } from "@herald/common/security/attempt-headers";
import type { ApiLimits, DeliveryExportRow } from "@herald/contracts";
import { apiSchemas, type Schema, type SchemaName } from "@herald/contracts/schemas";
import { permissionsFor } from "../authentication/access.ts";
import { rowFormats } from "../export/formats.ts";
import { allowOf } from "../http/methods.ts";
import { KEY_PATTERN, MAX_KEY_CHARACTERS } from "../idempotency/idempotency-key.ts";
import { API_PREFIX, type Operation, type OperationId, operationsByPath } from "../operations.ts";
import { catalogue, type ProblemCode } from "../problems/catalogue.ts";
import { componentSchemas, withPatterns } from "./component-schemas.ts";
import { DEFAULT_HEADERS, EventPayload, eventRequests, RECEIVER_TAG } from "./event-requests.ts";
import { EXAMPLES, PARAMETER_EXAMPLES, PROBLEM_EXAMPLES } from "./examples.ts";
import { LINKS, type Link } from "./links.ts";
import { problemsOf } from "./problems-of.ts";
import { TAGS, tagOf } from "./tags.ts";

type SecurityRequirement = Record<string, readonly string[]>;

export interface OpenApiDocument {
  openapi: string;
  info: {
    title: string;
    version: string;
    description: string;
    contact: { name: string };
    license: { name: string; identifier: string };
  };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  security: SecurityRequirement[];
  paths: Record<string, Record<string, OpenApiOperation>>;
  webhooks: Record<string, { post: Schema }>;
  components: {
    schemas: Record<string, Schema>;
    examples: Record<string, { summary: string; value: unknown }>;
    securitySchemes: Record<string, Schema>;
  };
}

export interface OpenApiOperation {
  operationId: OperationId;
  summary: string;
  description: string;
  tags: string[];
  security: SecurityRequirement[];
  parameters?: Schema[];
  requestBody?: { required: true; content: { "application/json": { schema: Schema; example?: unknown } } };
  responses: Record<string, OpenApiResponse>;
  "x-required-access": Operation["access"];
}

export interface OpenApiResponse {
  description: string;
  headers?: Record<string, { description: string; required: boolean; schema: Schema }>;
  content?: Record<string, { schema: Schema; example?: unknown; examples?: Record<string, Schema> }>;
  links?: Record<string, Link>;
}

export interface DocumentOptions {
  limits: ApiLimits;
  basePath: string;
  cookieName: string;
  /** The headers that receivers get. */
  headers?: HeaderSettings;
}

/** Grows when the API does; SPEC has no scheme of versions (SPEC 9.3). */
const API_VERSION = "1.0.0";

/** The OpenAPI 3.1 document of this service as it is configured: made of the schemas that requests are validated with. */
export function openApiDocument({
  limits,
  basePath,
  cookieName,
  headers = DEFAULT_HEADERS,
}: DocumentOptions): OpenApiDocument {
  const schemas = apiSchemas(limits);
  const paths: OpenApiDocument["paths"] = {};
  for (const [path, operations] of operationsByPath()) {
    const allow = allowOf(operations.map(([, { method }]) => method));
    paths[path] = Object.fromEntries(
      operations.map(([id, operation]) => [operation.method, describe(id, operation, { schemas, allow })]),
    );
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Herald management API",
      version: API_VERSION,
      description:
        "Webhook endpoints of an organization: list, create, edit, pause, delete, deliver by hand, and see what became of " +
        "each delivery. Every error is a problem document (RFC 9457) with a stable `code`. Unknown fields of a body are " +
        "ignored, unknown query parameters are refused; clients should ignore fields that they don't know.",
      contact: { name: "The operator of this service" },
      license: { name: "All rights reserved", identifier: "LicenseRef-UNLICENSED" },
    },
    servers: [{ url: basePath + API_PREFIX, description: "This service." }],
    tags: [...TAGS, RECEIVER_TAG],
    security: securityFor(null),
    paths,
    webhooks: eventRequests(headers),
    components: {
      schemas: { ...componentSchemas(schemas), EventPayload },
      examples: PROBLEM_EXAMPLES,
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
function securityFor(access: Operation["access"]): SecurityRequirement[] {
  const permissions = access === null ? [] : permissionsFor(access);
  return [{ bearer: permissions }, { session: permissions }];
}

function describe(
  id: OperationId,
  operation: Operation,
  { schemas, allow }: { schemas: Record<SchemaName, Schema>; allow: string },
): OpenApiOperation {
  const { summary, description, body, access, takesIdempotencyKey } = operation;
  const parameters = [
    ...pathParameters(operation.path),
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
        content: { "application/json": { schema: refTo(body), ...exampleOf(body) } },
      },
    }),
    responses: {
      [operation.success.status]: successResponse(id, operation),
      ...problemResponses(operation, allow),
    },
    "x-required-access": access,
  };
}

const refTo = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

function exampleOf(name: SchemaName, isList = false): { example?: unknown } {
  const example = EXAMPLES[name];
  if (example === undefined) return {};
  return { example: isList ? [example] : example };
}

type Headers = NonNullable<OpenApiResponse["headers"]>;

const textHeader = (description: string, required = true): Headers[string] => ({
  description,
  required,
  schema: { type: "string" },
});

const requestId: Headers = { "X-Request-Id": textHeader("Names this response in Herald's log; for support.") };

/** What is left of an allowance; every answer has it that was counted. */
const rateHeaders: Headers = {
  "RateLimit-Policy": textHeader(
    'The allowance: its name, points and seconds, as `"reads";q=12000;w=60` (draft-ietf-httpapi-ratelimit-headers).',
  ),
  RateLimit: textHeader('What is left of it, and for how many seconds, as `"reads";r=11990;t=42`.'),
};

const replayed: Headers = {
  "Idempotent-Replayed": textHeader("`true` where this is the answer that the first request with the key got.", false),
};

function successResponse(id: OperationId, { success, rate, takesIdempotencyKey }: Operation): OpenApiResponse {
  const { status, description } = success;
  const headers = { ...requestId, ...(rate && rateHeaders), ...(takesIdempotencyKey && replayed) };
  const links = LINKS[id];
  if (status === 204) return { description, headers };
  if ("rows" in success) {
    const named = { "Content-Disposition": textHeader("Names the file: `attachment`, with a `filename`.") };
    return { description, headers: { ...headers, ...named }, content: downloadContent(success.rows) };
  }
  const schema = success.isList ? { type: "array", items: refTo(success.schema) } : refTo(success.schema);
  const content = { "application/json": { schema, ...exampleOf(success.schema, success.isList) } };
  return { description, headers, content, ...(links && { links }) };
}

/** A download, in each of its formats. */
function downloadContent(rows: SchemaName): NonNullable<OpenApiResponse["content"]> {
  const example = EXAMPLES[rows] as DeliveryExportRow;
  const { ndjson, csv } = rowFormats;
  const lines = { contentMediaType: ndjson.type, contentSchema: refTo(rows) };
  return {
    [ndjson.type]: {
      schema: { type: "string", description: "A JSON object a line, with a line feed behind each.", ...lines },
      example: ndjson.row(example, false),
    },
    [csv.type]: {
      schema: { type: "string", description: "A table with the same fields (RFC 4180); null is an empty cell." },
      example: csv.head(false) + csv.row(example, false),
    },
  };
}

/** One response a status, with the codes that it may have. */
function problemResponses(operation: Operation, allow: string): Record<string, OpenApiResponse> {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of problemsOf(operation)) {
    const { status } = catalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, problemResponse(status, codes, allow)]));
}

function problemResponse(status: number, codes: ProblemCode[], allow: string): OpenApiResponse {
  const schema = { ...refTo("Problem"), properties: { code: { enum: codes }, status: { const: status } } };
  const description = codes.map((code) => `\`${code}\`: ${catalogue[code].title}.`).join("\n\n");
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  return {
    description,
    headers: { ...requestId, ...headersOf(status, codes, allow) },
    content: { "application/problem+json": { schema, examples } },
  };
}

function headersOf(status: number, codes: ProblemCode[], allow: string): Headers {
  const retryAfter = (required: boolean) => ({
    "Retry-After": textHeader("Seconds after which to try again.", required),
  });
  switch (status) {
    case 401:
      return { "WWW-Authenticate": textHeader("How to authenticate (RFC 6750).") };
    case 403:
      return {
        "WWW-Authenticate": textHeader(
          "`insufficient_scope` with the permissions that are needed as `scope`, where the token lacks one (RFC 6750).",
          false,
        ),
      };
    case 405:
      return { Allow: textHeader(`What this address takes: \`${allow}\`. Other methods get this answer.`) };
    case 409:
      return codes.includes("idempotency_in_progress") ? retryAfter(codes.length === 1) : {};
    case 429:
      return { ...retryAfter(true), ...rateHeaders };
    case 503:
      return retryAfter(true);
    default:
      return {};
  }
}

const PARAMETERS: Partial<Record<string, string>> = { deliveryId: "The delivery.", key: "The event's key." };

function pathParameters(path: string): Schema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: PARAMETERS[name] ?? "The endpoint.",
    schema: { type: "string", format: "uuid" },
    ...(PARAMETER_EXAMPLES[name] !== undefined && { example: PARAMETER_EXAMPLES[name] }),
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
    "With a key, the request is done once however often it comes: for 24 hours, the same caller's same request with the same key " +
    "gets the first one's answer again, without a signing secret. A request that was refused, or failed, may come again with its " +
    "key.",
  schema: { type: "string", minLength: 1, maxLength: MAX_KEY_CHARACTERS, pattern: KEY_PATTERN },
  example: "8e03978e-40d5-43e8-bc93-6894a57f9324",
};
