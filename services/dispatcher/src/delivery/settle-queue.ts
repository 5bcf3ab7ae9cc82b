import { isDataError, isTooMuch } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { shrinkingBatches } from "@herald/common/database/shrinking";
import { batcher } from "@herald/common/runtime/batcher";
import { retry } from "@herald/common/runtime/retry";
import type { Log } from "@herald/common/telemetry/log";
import { isEndpointsFailure } from "../health/health.ts";
import type { HealthQueue } from "../health/health-queue.ts";
import type { DispatcherMetrics } from "../metrics.ts";
import { type Settled, type Settlement, settle } from "../sql/settle.ts";

interface Parts {
  queries: Queries;
  metrics: Pick<DispatcherMetrics, "settleBatchSize" | "claimsLost">;
  health: Pick<HealthQueue, "add" | "has">;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}

/** Settlements of one statement, at the most. */
const MAX_BATCH = 500;

/**
 * Nobody waits for a settlement, but for that of a manual delivery. Single ones would cost PostgreSQL and this process a wake-up
 * each, and the disk a flush.
 */
const GATHER = { items: 50, forMs: 25, isAwaited: ({ manual }: Settlement) => manual };

/**
 * Settles attempts in batches, in the order in which they ended: one statement at a time, so that a later result of an
 * endpoint is never counted before an earlier one. While PostgreSQL is out of reach it waits and tries again; a statement
 * that is too much for PostgreSQL is made smaller, so that it holds up nobody for long.
 *
 * The returned function rejects where a settlement can't be written: the delivery comes due again when its lease ends.
 */
export function createSettleQueue({
  queries,
  metrics,
  health,
  log,
  signal,
}: Parts): (settlement: Settlement) => Promise<void> {
  const inBatches = shrinkingBatches<Settlement, never>(settleBatch, {
    max: MAX_BATCH,
    onShrunk: (size, error) => log.warn("settlements are made in smaller batches", { size, error }),
  });
  const queued = batcher<Settlement, { error?: unknown }>(
    async (settlements) => {
      const { setAside } = await inBatches(settlements);
      const refused = new Map(setAside.map(({ item, error }) => [item, { error }]));
      return settlements.map((settlement) => refused.get(settlement) ?? {});
    },
    { maxItems: MAX_BATCH, maxRunning: 1, gather: GATHER },
  );

  async function settleBatch(settlements: readonly Settlement[]): Promise<never[]> {
    metrics.settleBatchSize.observe(settlements.length);
    const { late, recovering } = await retry(() => settle(queries, settlements), {
      shouldRetry: (error) => !isDataError(error) && !isTooMuch(error),
      onFirstFailure: (error) =>
        log.error("attempts can't be settled; they wait until PostgreSQL takes them", { error }),
      signal,
    });
    metrics.claimsLost.inc(late.length);
    for (const settlement of settlements) {
      if (concernsHealth(settlement, { late, recovering })) health.add(settlement.endpointId, settlement);
    }
    return [];
  }

  /**
   * A healthy endpoint's success changes nothing. It does where a failure before it is not written yet. An attempt that
   * another dispatcher has repeated is not the endpoint's fault.
   */
  function concernsHealth(settlement: Settlement, { late, recovering }: Settled): boolean {
    const { endpointId, succeeded, failureKind } = settlement;
    if (succeeded) return health.has(endpointId) || recovering.includes(endpointId);
    return isEndpointsFailure(failureKind) && !late.includes(settlement);
  }

  return async (settlement) => {
    const outcome = await queued(settlement);
    if ("error" in outcome) throw outcome.error;
  };
}
