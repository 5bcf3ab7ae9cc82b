import { listOf, object, refTo, type Schema, text } from "./schema.ts";

export const problemSchemas = {
  Problem: object(
    "What went wrong (RFC 9457).",
    {
      type: { type: "string", pattern: "^urn:herald:problem:", description: "Stable URN of the kind of problem." },
      title: text("The kind of problem in a few words."),
      status: { type: "integer", minimum: 400, maximum: 599, description: "The response's status." },
      code: text("Stable name of the kind of problem, for programs."),
      detail: text("What happened this time, and what to do about it."),
      requestId: text("Names this response in Herald's log; for support."),
      errors: listOf(refTo("FieldProblem"), "Every bad field, where fields are the reason."),
      missing: listOf(text("What, in words."), "Everything that the caller lacks, where the status is 403."),
      signInUrl: text("Where a person signs in, where the status is 401."),
    },
    ["errors", "missing", "signInUrl"],
  ),
  FieldProblem: object("One field that can't be accepted.", {
    pointer: text('JSON pointer into the body, "" for the body itself; for a query parameter "?" and its name.'),
    code: text("Stable name of what is wrong, for programs."),
    detail: text("What is wrong, and what would be right."),
  }),
} satisfies Record<string, Schema>;
