import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { SecretSealer } from "@herald/common/security/secret-box";
import type { ManualRequest } from "@herald/contracts";
import type { ManagementApiConfig } from "./config.ts";
import type { KeyedLimiter } from "./limits/keyed-limiter.ts";
import type { EndpointKey } from "./sql/endpoint-details.ts";

export interface Parts {
  config: ManagementApiConfig;
  prisma: PrismaClient;
  queries: Queries;
  /** Bounded in time. */
  reads: Reads;
  secrets: SecretSealer;
  clock: Clock;
  newId: () => string;
  /**
   * Asks a dispatcher for a manual delivery's first attempt; resolves when it has answered, or when its time is over.
   *
   * @param traceparent of the request, whose trace the attempt continues
   */
  requestAttempt: (request: ManualRequest, traceparent: string | undefined) => Promise<void>;
  /** Notifies the owner of an endpoint of its change, before the client gets the answer. */
  tellOwner: (key: EndpointKey) => Promise<void>;
  /** Limits the writes of each organization. A manual delivery holds a place for its insert, and not while it waits for the receiver. */
  writeLimiter: KeyedLimiter;
}
