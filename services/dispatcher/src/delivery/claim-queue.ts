import { randomUUID } from "node:crypto";
import { isDataError, isTooMuch } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { shrinkingBatches } from "@herald/common/database/shrinking";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import { retry } from "@herald/common/runtime/retry";
import type { Log } from "@herald/common/telemetry/log";
import type { Tracing } from "@herald/common/telemetry/tracing";
import type { DispatcherMetrics } from "../metrics.ts";
import { claim, type EndpointDemand } from "../sql/claim.ts";
import { claimInterrupted } from "../sql/claim-interrupted.ts";
import { claimManual } from "../sql/claim-manual.ts";
import type { Claim, ClaimedDelivery } from "../sql/claimed-delivery.ts";
import { findClaimed } from "../sql/find-claimed.ts";
import { type Unclaim, unclaim } from "../sql/unclaim.ts";
import { traceClaims } from "../tracing.ts";

/** Deliveries of an endpoint that are wanted now. */
type Demand = Omit<EndpointDemand, "since">;

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: Pick<DispatcherMetrics, "claimBatchSize" | "interruptions">;
  tracing: Tracing | undefined;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}

export interface ClaimOptions {
  /** After this time, a claimed delivery that is not settled is due again. */
  leaseMs: number;
  /** The time before which an endpoint has no due rows that are alive. */
  since: (endpointId: string) => Date;
}

/** The ways to claim deliveries, and to undo a claim. */
export interface Claims {
  /** Due deliveries of endpoints. While PostgreSQL is out of reach, it waits and tries again. */
  due(demands: readonly Demand[]): Promise<ClaimedDelivery[]>;
  /** A manual delivery, likewise; undefined where its endpoint is disabled, another claim holds it, or it is gone. */
  manual(delivery: { deliveryId: string; endpointId: string }): Promise<ClaimedDelivery | undefined>;
  /** The oldest delivery of an endpoint that was interrupted again, likewise. */
  interrupted(endpointId: string): Promise<ClaimedDelivery | undefined>;
  /** Undoes a claim whose attempt could not begin: the delivery is due again after the delay. */
  undo(delivery: ClaimedDelivery, delayMs: number): Promise<void>;
}

/** Claims that one statement undoes, at the most. */
const MAX_UNDONE = 500;

/** Endpoints of one statement, at the most. */
const MAX_ENDPOINTS = 250;

export function createClaims(parts: Parts, { leaseMs, since }: ClaimOptions): Claims {
  const { queries, clock, metrics, tracing, log, signal } = parts;
  const traced = traceClaims(tracing);
  const fromNow = (milliseconds: number) => new Date(clock.now().getTime() + milliseconds);
  const newClaim = (): Claim => ({ claimId: randomUUID(), now: clock.now(), leasedUntil: fromNow(leaseMs) });

  const inBatches = shrinkingBatches<Demand, ClaimedDelivery>(claimDue, {
    max: MAX_ENDPOINTS,
    onShrunk: (size, error) => log.warn("deliveries are claimed for fewer endpoints at once", { size, error }),
  });

  async function claimDue(demands: readonly Demand[]): Promise<ClaimedDelivery[]> {
    const ids = demands.map(({ endpointId }) => endpointId);
    const claimed = await claimOrFind(ids, (own) => {
      const wanted = demands.map((demand) => ({ ...demand, since: since(demand.endpointId) }));
      return claim(queries, wanted, own);
    });
    metrics.claimBatchSize.observe(claimed.length);
    return claimed;
  }

  /** A claim that is made again first finds what it took already: its answer may have been lost, and not the claim. */
  function claimOrFind(endpointIds: readonly string[], take: (own: Claim) => Promise<ClaimedDelivery[]>) {
    let last: Claim | undefined;
    return traced(() =>
      untilAnswered(async () => {
        const found = last ? await findClaimed(queries, endpointIds, last) : [];
        if (found.length > 0) return found;
        last = newClaim();
        const claimed = await take(last);
        metrics.interruptions.inc(claimed.filter(({ interrupted }) => interrupted).length);
        return claimed;
      }),
    );
  }

  function untilAnswered<T>(task: () => Promise<T>): Promise<T> {
    return retry(task, {
      shouldRetry: (error) => !isDataError(error) && !isTooMuch(error),
      onFirstFailure: (error) =>
        log.error("deliveries can't be claimed, or given back; they wait for PostgreSQL", { error }),
      signal,
    });
  }

  async function claimOne(endpointId: string, take: (own: Claim) => Promise<ClaimedDelivery | undefined>) {
    const [claimed] = await claimOrFind([endpointId], async (own) =>
      [await take(own)].filter((each) => each !== undefined),
    );
    return claimed;
  }

  // During an outage, all that is in flight goes back within a moment.
  const undo = batcher<Unclaim, void>(
    async (undone) => {
      await untilAnswered(() => unclaim(queries, undone));
      return undone.map(() => undefined);
    },
    { maxItems: MAX_UNDONE, maxRunning: 1 },
  );

  return {
    async due(demands) {
      const { results, setAside } = await inBatches(demands);
      for (const { item, error } of setAside) {
        log.error("an endpoint's deliveries can't be claimed", { endpointId: item.endpointId, error });
      }
      return results;
    },
    async manual({ deliveryId, endpointId }) {
      const claimed = await claimOne(endpointId, (own) => claimManual(queries, deliveryId, own));
      return claimed && { ...claimed, manual: true };
    },
    interrupted: (endpointId) =>
      claimOne(endpointId, (own) => claimInterrupted(queries, { endpointId, since: since(endpointId) }, own)),
    undo: ({ deliveryId, claimId }, delayMs) => undo({ deliveryId, claimId, dueAt: fromNow(delayMs) }),
  };
}
