import { PROBLEMS, type ProblemCode } from "@herald/contracts";
import type { Schema } from "@herald/contracts/schemas";
import { notFound, type Operation, parametersOf } from "../operations.ts";

export interface OpenApiResponse {
  description: string;
  headers?: Record<string, { description: string; required: boolean; schema: Schema }>;
  content?: Record<string, { schema: Schema; example?: unknown }>;
  /** The codes that a problem may have. A schema for each would be a separate type in a generated client. */
  "x-codes"?: ProblemCode[];
}

/** The codes that an answer may have; none if it is no problem. */
export const codesOf = (response: OpenApiResponse): ProblemCode[] => response["x-codes"] ?? [];

export const refTo = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

export type Headers = NonNullable<OpenApiResponse["headers"]>;

const textHeader = (description: string, required = true): Headers[string] => ({
  description,
  required,
  schema: { type: "string" },
});

export const requestId: Headers = { "X-Request-Id": textHeader("Names this response in Herald's log; for support.") };

/** The rest of an allowance; every counted answer has it. */
export const rateHeaders: Headers = {
  "RateLimit-Policy": textHeader(
    'The allowance: its name, points and seconds, as `"reads";q=12000;w=60` (draft-ietf-httpapi-ratelimit-headers).',
  ),
  RateLimit: textHeader('What is left of it, and for how many seconds, as `"reads";r=11990;t=42`.'),
};

export function problemResponses(all: readonly ProblemCode[]): Record<string, OpenApiResponse> {
  const byStatus = Map.groupBy(all, (code) => PROBLEMS[code].status);
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, problemResponse(status, codes)]));
}

function problemResponse(status: number, codes: ProblemCode[]): OpenApiResponse {
  const description = codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join("\n\n");
  return {
    description,
    headers: { ...requestId, ...headersOf(status) },
    content: { "application/problem+json": { schema: refTo("Problem") } },
    "x-codes": codes,
  };
}

function headersOf(status: number): Headers {
  const retryAfter = { "Retry-After": textHeader("Seconds after which to try again.") };
  switch (status) {
    case 401:
      return { "WWW-Authenticate": textHeader("How to authenticate (RFC 6750).") };
    case 403:
      return {
        "WWW-Authenticate": textHeader(
          "`insufficient_scope` with the permissions that are needed as `scope`, if the token lacks one (RFC 6750).",
          false,
        ),
      };
    case 405:
      return { Allow: textHeader("What this address takes. Other methods get this answer.") };
    case 429:
      return { ...retryAfter, ...rateHeaders };
    case 503:
      return retryAfter;
    default:
      return {};
  }
}

/** Problems that any request may be answered with. */
const ALWAYS: ProblemCode[] = [
  "invalid_request",
  "malformed_http",
  "authentication_required",
  "token_invalid",
  "token_expired",
  "api_key_not_accepted",
  // The answer to other methods of the path.
  "method_not_allowed",
  "request_timeout",
  "expectation_failed",
  "headers_too_large",
  "internal_error",
  "key_server_unavailable",
  "database_unavailable",
];
const WITH_BODY: ProblemCode[] = ["malformed_json", "body_too_large", "unsupported_media_type"];
const WITH_ACCESS: ProblemCode[] = [
  "organization_mismatch",
  "organization_missing",
  "subscription_inactive",
  "module_missing",
  "permission_missing",
];

/** Every problem that an operation may be answered with. Nothing else may come: tests hold each response against this. */
export function problemsOf(operation: Operation): ProblemCode[] {
  const { access, method, body, rate, takesIdempotencyKey, problems = [] } = operation;
  const parameters = parametersOf(operation);
  return [
    ...new Set([
      ...parameters.map(notFound),
      ...problems,
      // An id that can't even be decoded, e.g. %ff.
      ...(parameters.length > 0 ? (["route_not_found"] as const) : []),
      ...(body ? WITH_BODY : []),
      ...(takesIdempotencyKey ? (["idempotency_key_invalid"] as const) : []),
      ...ALWAYS,
      ...(access === null ? [] : WITH_ACCESS),
      ...(access === "save" ? (["entitlement_missing"] as const) : []),
      ...(method === "get" ? [] : (["origin_mismatch"] as const)),
      ...(method === "get" && rate ? (["read_out_of_time"] as const) : []),
      ...(rate ? (["too_many_requests"] as const) : []),
    ]),
  ];
}
