import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { ProblemError } from "../problems/problem-error.ts";

/** How often an organization may do something in a minute, in this process. */
export interface RateLimits {
  /** @throws ProblemError `too_many_requests` where nothing is left of the allowance */
  consume(allowance: "writes" | "manualDeliveries", organizationId: string): Promise<void>;
}

const WORDS = { writes: "changes", manualDeliveries: "manual deliveries" };

/**
 * Counts in memory, so each process gives the whole allowance. That is enough against a client that runs wild, which is
 * what these limits are for.
 */
export function rateLimits(perMinute: { writes: number; manualDeliveries: number }): RateLimits {
  const limiters = {
    writes: new RateLimiterMemory({ points: perMinute.writes, duration: 60 }),
    manualDeliveries: new RateLimiterMemory({ points: perMinute.manualDeliveries, duration: 60 }),
  };
  return {
    async consume(allowance, organizationId) {
      try {
        await limiters[allowance].consume(organizationId);
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
        throw new ProblemError("too_many_requests", {
          detail:
            `The organization may make ${perMinute[allowance]} ${WORDS[allowance]} in a minute and has made them. ` +
            `Try again in ${seconds} s.`,
          headers: { "Retry-After": String(seconds) },
        });
      }
    },
  };
}
