import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { SecretSealer } from "@herald/common/security/secret-box";
import type { ManagementApiConfig } from "./config.ts";
import type { TellOwner } from "./endpoints/tell-owner.ts";
import type { KeyedLimiter } from "./limits/keyed-limiter.ts";

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
