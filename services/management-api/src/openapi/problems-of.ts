import type { ProblemCode } from "@herald/contracts";
import type { Operation } from "../operations.ts";

/** What any request may be answered with, whatever it asks for. */
const ALWAYS: ProblemCode[] = [
  "invalid_request",
  "malformed_http",
  "authentication_required",
  "token_invalid",
  "token_expired",
  "api_key_not_accepted",
  // What the path's other methods are answered with.
  "method_not_allowed",
  "request_timeout",
  "expectation_failed",
  "headers_too_large",
  "internal_error",
  "key_server_unavailable",
  "database_unavailable",
];
const WITH_BODY: ProblemCode[] = ["malformed_json", "body_too_large", "unsupported_media_type"];
const WITH_KEY: ProblemCode[] = ["idempotency_key_invalid", "idempotency_in_progress", "idempotency_key_reused"];
const WITH_ACCESS: ProblemCode[] = [
  "organization_missing",
  "subscription_inactive",
  "module_missing",
  "permission_missing",
  "organization_elsewhere",
];

/** Every problem that an operation may be answered with. Nothing else may come: tests hold each response against this. */
export function problemsOf(operation: Operation): ProblemCode[] {
  const { path, access, method, body, rate, takesIdempotencyKey, problems = [] } = operation;
  return [
    ...new Set([
      ...problems,
      // An id that can't even be decoded, e.g. %ff.
      ...(path.includes("{") ? (["route_not_found"] as const) : []),
      ...(body ? WITH_BODY : []),
      ...(takesIdempotencyKey ? WITH_KEY : []),
      ...ALWAYS,
      ...(access === null ? [] : WITH_ACCESS),
      ...(access === "save" ? (["entitlement_missing"] as const) : []),
      ...(method === "get" ? [] : (["origin_mismatch"] as const)),
      ...(method === "get" && rate ? (["read_out_of_time"] as const) : []),
      ...(rate ? (["too_many_requests"] as const) : []),
    ]),
  ];
}
