import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { SecretSealer } from "@herald/common/security/secret-box";
import type { FieldProblem } from "@herald/contracts";
import type { Caller } from "./authentication/caller.ts";
import type { ManagementApiConfig } from "./config.ts";
import type { TellOwner } from "./endpoints/tell-owner.ts";
import type { KeyedLimiter } from "./limits/connection-limits.ts";
import type { OperationId } from "./operations.ts";

export interface Parts {
  config: ManagementApiConfig;
  prisma: PrismaClient;
  queries: Queries;
  /** Bounded in time. */
  reads: Reads;
  secrets: SecretSealer;
  clock: Clock;
  newId: () => string;
  tellOwner: TellOwner;
  /** How long a request waits for a manual delivery's first attempt; the signal ends the waiting, as at a stop. */
  manualWait: { timeoutMs: number; signal: AbortSignal };
  /** Limits the writes of each organization. A manual delivery holds a place for its insert, and not while it waits for the receiver. */
  writeLimiter: KeyedLimiter;
}

/** A request that has been authenticated, allowed, and validated. */
export interface ApiRequest<Body = unknown, Query = unknown> {
  caller: Caller;
  /** The caller's organization; "" if the operation takes callers without one. */
  organizationId: string;
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  /** The bad fields of the body; empty unless the operation reports them itself. */
  badFields: FieldProblem[];
  /** The trace context of what the request causes: of its span, or as the caller gave it; undefined if there is none. */
  traceparent: string | undefined;
  /** With an idempotency key, what the trail knows the request by. */
  requestHash: Buffer<ArrayBuffer> | null;
}

/** Does an operation. Returns the body of its success response, and throws ProblemError for every other response. */
// biome-ignore lint/suspicious/noExplicitAny: the operation decides what body and query are; the router has validated them.
export type Handler = (request: ApiRequest<any, any>) => Promise<unknown>;

export type Handlers = Record<OperationId, Handler>;
