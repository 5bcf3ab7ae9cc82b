import { type Static, Type } from "typebox";
import { listOf, object, oneOf, refTo, text } from "./json-schema.ts";

export const FieldProblem = object("One field of the body, or one query parameter, that can't be accepted.", {
  pointer: Type.Optional(text('JSON pointer into the body, "" for the body itself; absent for a query parameter.')),
  parameter: Type.Optional(text("Name of the query parameter; absent for a field of the body.")),
  code: text("Stable name of what is wrong, for programs."),
  detail: text("What is wrong, and what would be right."),
});
export type FieldProblem = Static<typeof FieldProblem>;

/** The codes with which the management API refuses requests; docs/api/errors.md says when each comes, and what to do. */
export const PROBLEM_CODES = [
  "invalid_request",
  "malformed_http",
  "malformed_json",
  "idempotency_key_invalid",
  "event_not_subscribed",
  "endpoint_disabled",
  "endpoint_limit_reached",
  "authentication_required",
  "token_invalid",
  "token_expired",
  "api_key_not_accepted",
  "organization_missing",
  "subscription_inactive",
  "module_missing",
  "permission_missing",
  "entitlement_missing",
  "origin_mismatch",
  "organization_mismatch",
  "webhook_not_found",
  "delivery_not_found",
  "resend_not_found",
  "event_not_found",
  "route_not_found",
  "method_not_allowed",
  "request_timeout",
  "version_conflict",
  "nothing_to_resend",
  "resend_running",
  "body_too_large",
  "unsupported_media_type",
  "expectation_failed",
  "too_many_requests",
  "headers_too_large",
  "internal_error",
  "key_server_unavailable",
  "read_out_of_time",
  "database_unavailable",
] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

export const ProblemCode = oneOf(
  PROBLEM_CODES,
  "Stable name of the kind of problem, for programs. Kinds may be added: go by the status of one that you don't know.",
);

/** Body of every error response, as `application/problem+json`. */
export const Problem = object("What went wrong (RFC 9457).", {
  type: text("Stable URN of the kind of problem.", { pattern: "^urn:herald:problem:" }),
  title: text("The kind of problem in a few words."),
  status: Type.Integer({ minimum: 400, maximum: 599, description: "The response's status." }),
  code: refTo({ ProblemCode }, "The kind of problem, for programs."),
  detail: text("What happened this time, and what to do about it."),
  requestId: text("Names this response in Herald's log; for support."),
  errors: Type.Optional(listOf(refTo({ FieldProblem }), "Every bad field, if fields are the reason.")),
  missing: Type.Optional(listOf(text("What, in words."), "Everything that the caller lacks, if the status is 403.")),
  signInUrl: Type.Optional(text("Where a person signs in, if the status is 401.")),
});
export type Problem = Static<typeof Problem>;

export const problemSchemas = {
  Problem,
  ProblemCode,
  FieldProblem,
};
