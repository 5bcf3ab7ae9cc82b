import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import type { Allowance } from "../operations.ts";
import { ProblemError } from "../problems/problem-error.ts";

export type RateLimits = ReturnType<typeof rateLimits>;

const WINDOW_S = 60;
const WORDS = { reads: "simple reads", writes: "changes", manualDeliveries: "manual deliveries" };

/** The smallest share of a process: the most expensive request of an allowance must fit. */
const LEAST = { reads: 10, writes: 1, manualDeliveries: 1 };

/**
 * Limits how much an organization may do in a minute. Counts in memory. Each process gives an even share of the allowance, since a load balancer gives
 * each an even share of the requests (docs/adr/README.md, 58).
 */
export function rateLimits(perMinute: Record<Allowance, number>, processes: () => number) {
  const limiterOf = (allowance: Allowance) =>
    new RateLimiterMemory({ points: perMinute[allowance], duration: WINDOW_S, keyPrefix: allowance });
  const limiters = {
    reads: limiterOf("reads"),
    writes: limiterOf("writes"),
    manualDeliveries: limiterOf("manualDeliveries"),
  };

  /** The headers of draft-ietf-httpapi-ratelimit-headers: quota and window of the policy, and how much is left for how many seconds. */
  function headersOf(allowance: Allowance, remaining: number, seconds: number): Record<string, string> {
    // This process assumes that the other ones have as much left as itself.
    const left = Math.min(perMinute[allowance], remaining * processes());
    return {
      "RateLimit-Policy": `"${allowance}";q=${perMinute[allowance]};w=${WINDOW_S}`,
      RateLimit: `"${allowance}";r=${left};t=${seconds}`,
    };
  }

  return {
    /** Returns the headers that say how much is left. @throws ProblemError `too_many_requests` */
    async consume(allowance: Allowance, organizationId: string, points: number) {
      const limiter = limiters[allowance];
      const [whole, sharing] = [perMinute[allowance], processes()];
      limiter.points = Math.min(whole, Math.max(LEAST[allowance], Math.ceil(whole / sharing)));
      try {
        const { remainingPoints, msBeforeNext } = await limiter.consume(organizationId, points);
        return headersOf(allowance, remainingPoints, secondsOf(msBeforeNext));
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        // A refused request uses nothing up: an expensive read leaves the rest to simple ones.
        const { remainingPoints, msBeforeNext } = await limiter.reward(organizationId, points);
        const seconds = secondsOf(msBeforeNext);
        const made =
          remainingPoints === 0 ? "has made them" : `has ${remainingPoints} left, but this counts as ${points}`;
        const shared = sharing > 1 ? `, ${limiter.points} by each of ${sharing} processes of the API,` : "";
        throw new ProblemError("too_many_requests", {
          detail:
            `The organization may make ${whole} ${WORDS[allowance]} in a minute${shared} and ${made}. ` +
            `Try again in ${seconds} s.`,
          headers: { ...headersOf(allowance, remainingPoints, seconds), "Retry-After": String(seconds) },
        });
      }
    },
  };
}

const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));
