import { type Static, Type } from "typebox";
import { listOf, object, oneOf, refTo, text } from "./json-schema.ts";
import { type ProblemCode as Code, PROBLEMS } from "./problem-catalogue.ts";

export const FieldProblem = object("One field of the body, or one query parameter, that can't be accepted.", {
  pointer: Type.Optional(text('JSON pointer into the body, "" for the body itself; absent for a query parameter.')),
  parameter: Type.Optional(text("Name of the query parameter; absent for a field of the body.")),
  code: text("Stable name of what is wrong, for programs."),
  detail: text("What is wrong, and what would be right."),
});
export type FieldProblem = Static<typeof FieldProblem>;

export const ProblemCode = oneOf(
  Object.keys(PROBLEMS) as Code[],
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
