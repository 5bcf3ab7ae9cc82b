import type { FieldProblem } from "@herald/contracts";
import type { Caller } from "./authentication/caller.ts";
import type { OperationId } from "./operations.ts";

/** A request that has been authenticated, allowed, and validated. */
export interface ApiRequest<Body = unknown, Query = unknown> {
  caller: Caller;
  /** The caller's; "" where the operation takes callers without one. */
  organizationId: string;
  /** Of the path, by name. */
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  /** Of the body; empty unless the operation reports them itself. */
  badFields: FieldProblem[];
}

/** Does an operation. Returns the body of its success response; throws ProblemError where there is none. */
// biome-ignore lint/suspicious/noExplicitAny: what body and query are is the operation's; the router has validated them.
export type Handler = (request: ApiRequest<any, any>) => Promise<unknown>;

export type Handlers = Record<OperationId, Handler>;
