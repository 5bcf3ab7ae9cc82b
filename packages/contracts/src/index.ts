// Types, constants and rules. The schemas, which need TypeBox at run time, are `@herald/contracts/schemas`.
export type * from "./business-event.ts";
export type * from "./deliveries.ts";
export type * from "./endpoint-changes.ts";
export type * from "./endpoint-overview.ts";
export * from "./event-samples.ts";
export type * from "./event-search.ts";
export * from "./event-types.ts";
export * from "./judge-event.ts";
export type * from "./messages.ts";
export type * from "./notices.ts";
export * from "./problem-catalogue.ts";
export type { FieldProblem, Problem } from "./problems.ts";
export type * from "./resends.ts";
export * from "./rules.ts";
export type * from "./session.ts";
export * from "./vocabulary.ts";
export type * from "./webhooks.ts";
