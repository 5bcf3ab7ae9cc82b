import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import { retry } from "@herald/common/runtime/retry";
import type { Log } from "@herald/common/telemetry/log";
import type { Tracing } from "@herald/common/telemetry/tracing";
import type { Hint } from "@herald/contracts";
import type { DispatcherMetrics } from "./metrics.ts";
import { type ClaimedDelivery, claimHinted, claimOfEndpoints, type EndpointDemand, unclaim } from "./sql/claim.ts";
import { traceClaims } from "./tracing.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: Pick<DispatcherMetrics, "claimBatchSize">;
  tracing: Tracing | undefined;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}

export interface ClaimOptions {
  /** After this time, a claimed delivery that is not settled is due again. */
  leaseMs: number;
  /** How long a new delivery waits for its hint before the due scan may take it. */
  hintGraceMs: number;
  /** Attempts of a delivery at the most. */
  maxAttempts: number;
}

/** The ways to claim deliveries, and to undo a claim. */
export interface Claims {
  /** The hinted delivery; undefined where it is not due, is claimed by another hint or process, or is gone. */
  hinted(hint: Hint): Promise<ClaimedDelivery | undefined>;
  ofEndpoints(demands: readonly EndpointDemand[]): Promise<ClaimedDelivery[]>;
  /** Undoes a claim whose attempt could not begin: the delivery is due again after the delay. */
  undo(delivery: ClaimedDelivery, delayMs: number): Promise<void>;
}

/** Hints claimed by one statement, and such statements at once. */
const BATCH = { maxItems: 250, maxRunning: 2 };

/**
 * By how much the clocks of publishers and dispatchers may differ. A hint's grace ends by the publisher's clock. Without this
 * allowance, a dispatcher whose clock is a moment behind would leave the newest deliveries of a burst alone until then.
 */
const CLOCK_DIFFERENCE_MS = 10_000;

/** Claims hinted deliveries in batches. While PostgreSQL is out of reach, a hinted claim waits and tries again. */
export function createClaims(parts: Parts, { leaseMs, hintGraceMs, maxAttempts }: ClaimOptions): Claims {
  const { queries, clock, metrics, tracing, log, signal } = parts;
  const traced = traceClaims(tracing);
  const fromNow = (milliseconds: number) => new Date(clock.now().getTime() + milliseconds);
  const times = () => ({ now: clock.now(), leasedUntil: fromNow(leaseMs), maxAttempts });

  return {
    hinted: batcher<Hint, ClaimedDelivery | undefined>(async (hints) => {
      metrics.claimBatchSize.observe(hints.length);
      const deliveryIds = hints.map((hint) => hint.deliveryId);
      const claimed = await retry(() => traced(() => claimHinted(queries, deliveryIds, times())), {
        shouldRetry: (error) => !isDataError(error),
        onFirstFailure: (error) => log.error("hinted deliveries can't be claimed; they wait for PostgreSQL", { error }),
        signal,
      });
      const byId = new Map(claimed.map((delivery) => [delivery.deliveryId, delivery]));
      return hints.map(({ deliveryId }) => {
        const delivery = byId.get(deliveryId);
        // Of two hints of the same delivery, only one gets it.
        byId.delete(deliveryId);
        return delivery;
      });
    }, BATCH),
    ofEndpoints: (demands) =>
      traced(() =>
        claimOfEndpoints(queries, demands, { ...times(), hintGraceUntil: fromNow(hintGraceMs + CLOCK_DIFFERENCE_MS) }),
      ),
    undo: ({ deliveryId, attempt }, delayMs) => unclaim(queries, { deliveryId, attempt, dueAt: fromNow(delayMs) }),
  };
}
