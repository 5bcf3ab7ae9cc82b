import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import type { Allowance } from "../operations.ts";
import { ProblemError } from "../problems/problem-error.ts";

/** How much an organization may do in a minute, in this process. */
export interface RateLimits {
  /**
   * Takes points off an allowance. Returns the headers that say how much is left.
   *
   * @throws ProblemError `too_many_requests` where too little is left
   */
  consume(allowance: Allowance, organizationId: string, points: number): Promise<Record<string, string>>;
}

const WINDOW_S = 60;
const WORDS = { reads: "simple reads", writes: "changes", manualDeliveries: "manual deliveries" };

/**
 * Counts in memory, so each process gives the whole allowance. That is enough against a client that runs wild, which is
 * what these limits are for.
 */
export function rateLimits(perMinute: Record<Allowance, number>): RateLimits {
  const limiterOf = (allowance: Allowance) =>
    new RateLimiterMemory({ points: perMinute[allowance], duration: WINDOW_S, keyPrefix: allowance });
  const limiters = {
    reads: limiterOf("reads"),
    writes: limiterOf("writes"),
    manualDeliveries: limiterOf("manualDeliveries"),
  };

  /** As draft-ietf-httpapi-ratelimit-headers has them: quota and window of the policy, what is left and until when. */
  function headersOf(allowance: Allowance, remaining: number, seconds: number): Record<string, string> {
    return {
      "RateLimit-Policy": `"${allowance}";q=${perMinute[allowance]};w=${WINDOW_S}`,
      RateLimit: `"${allowance}";r=${remaining};t=${seconds}`,
    };
  }

  return {
    async consume(allowance, organizationId, points) {
      try {
        const { remainingPoints, msBeforeNext } = await limiters[allowance].consume(organizationId, points);
        return headersOf(allowance, remainingPoints, secondsOf(msBeforeNext));
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        // What is refused uses nothing up: a dear read leaves the rest to simple ones.
        const { remainingPoints, msBeforeNext } = await limiters[allowance].reward(organizationId, points);
        const seconds = secondsOf(msBeforeNext);
        const made =
          remainingPoints === 0 ? "has made them" : `has ${remainingPoints} left, where this counts as ${points}`;
        throw new ProblemError("too_many_requests", {
          detail:
            `The organization may make ${perMinute[allowance]} ${WORDS[allowance]} in a minute and ${made}. ` +
            `Try again in ${seconds} s.`,
          headers: { ...headersOf(allowance, remainingPoints, seconds), "Retry-After": String(seconds) },
        });
      }
    },
  };
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
