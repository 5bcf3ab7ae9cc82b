import type { ApiLimits } from "@herald/contracts";
import { apiSchemas, type Schema } from "@herald/contracts/schemas";
import { API_PREFIX, type Operation, type OperationId, operationsByPath } from "../operations.ts";
import { catalogue, type ProblemCode } from "../problems/catalogue.ts";
import { problemsOf } from "./problems-of.ts";

export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string; description: string }[];
  security: Record<string, string[]>[];
  paths: Record<string, Record<string, OpenApiOperation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, Schema> };
}

export interface OpenApiOperation {
  operationId: OperationId;
  summary: string;
  description: string;
  parameters?: Schema[];
  requestBody?: { required: true; content: { "application/json": { schema: Schema } } };
  responses: Record<string, OpenApiResponse>;
  "x-required-access": Operation["access"];
}

export interface OpenApiResponse {
  description: string;
  headers?: Record<string, { description: string; required: boolean; schema: Schema }>;
  content?: Record<string, { schema: Schema }>;
}

export interface DocumentOptions {
  limits: ApiLimits;
  basePath: string;
  cookieName: string;
}

/** Grows when the API does; SPEC has no scheme of versions (SPEC 9.3). */
const API_VERSION = "1.0.0";

/** The OpenAPI 3.1 document of this service as it is configured: made of the schemas that requests are validated with. */
export function openApiDocument({ limits, basePath, cookieName }: DocumentOptions): OpenApiDocument {
  const schemas = apiSchemas(limits);
  const paths: OpenApiDocument["paths"] = {};
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
        "each delivery. Every error is a problem document (RFC 9457) with a stable `code`. Unknown fields of a request are " +
        "ignored; clients should ignore fields that they don't know.",
    },
    servers: [{ url: basePath + API_PREFIX, description: "This service." }],
    security: [{ bearer: [] }, { session: [] }],
    paths,
    components: {
      schemas,
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

function describe(id: OperationId, operation: Operation, schemas: Record<string, Schema>): OpenApiOperation {
  const parameters = [...pathParameters(operation.path), ...queryParameters(operation, schemas)];
  return {
    operationId: id,
    summary: operation.summary,
    description: operation.description,
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body && {
      requestBody: { required: true, content: { "application/json": { schema: refTo(operation.body) } } },
    }),
    responses: { [operation.success.status]: successResponse(operation), ...problemResponses(operation) },
    "x-required-access": operation.access,
  };
}

const refTo = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

const requestId = {
  "X-Request-Id": {
    description: "Names this response in Herald's log; for support.",
    required: true,
    schema: { type: "string" },
  },
};

/** What is left of an allowance; every answer has it that was counted. */
const rateHeaders = {
  "RateLimit-Policy": {
    description:
      'The allowance: its name, points and seconds, as `"reads";q=12000;w=60` (draft-ietf-httpapi-ratelimit-headers).',
    required: true,
    schema: { type: "string" },
  },
  RateLimit: {
    description: 'What is left of it, and for how many seconds, as `"reads";r=11990;t=42`.',
    required: true,
    schema: { type: "string" },
  },
};

function successResponse({ success, rate }: Operation): OpenApiResponse {
  const headers = { ...requestId, ...(rate && rateHeaders) };
  if (success.status === 204) return { description: success.description, headers };
  const schema = success.isList ? { type: "array", items: refTo(success.schema) } : refTo(success.schema);
  return { description: success.description, headers, content: { "application/json": { schema } } };
}

/** One response a status, with the codes that it may have. */
function problemResponses(operation: Operation): Record<string, OpenApiResponse> {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of problemsOf(operation)) {
    const { status } = catalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, problemResponse(status, codes)]));
}

function problemResponse(status: number, codes: ProblemCode[]): OpenApiResponse {
  const schema = { ...refTo("Problem"), properties: { code: { enum: codes }, status: { const: status } } };
  const description = codes.map((code) => `\`${code}\`: ${catalogue[code].title}.`).join("\n\n");
  return {
    description,
    headers: { ...requestId, ...headersOf(status) },
    content: { "application/problem+json": { schema } },
  };
}

function headersOf(status: number): NonNullable<OpenApiResponse["headers"]> {
  const text = (description: string) => ({ description, required: true, schema: { type: "string" } });
  if (status === 401) return { "WWW-Authenticate": text("How to authenticate (RFC 6750).") };
  const retryAfter = { "Retry-After": text("Seconds after which to try again.") };
  if (status === 429) return { ...retryAfter, ...rateHeaders };
  return status === 503 ? retryAfter : {};
}

const PARAMETERS: Partial<Record<string, string>> = { deliveryId: "The delivery.", key: "The event's key." };

function pathParameters(path: string): Schema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    description: PARAMETERS[name ?? ""] ?? "The endpoint.",
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
    schema,
  }));
}
