import { isConflict, isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import { retry } from "@herald/common/runtime/retry";
import type { Log } from "@herald/common/telemetry/log";
import type { DispatcherMetrics } from "./metrics.ts";
import { type HealthThresholds, type Settlement, settle } from "./sql/settle.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: DispatcherMetrics;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}

/** Settlements of one statement, at the most. */
const MAX_BATCH = 500;

/**
 * Settles attempts in batches, in the order in which they ended: one statement at a time, so that a later result of an
 * endpoint is never counted before an earlier one. While PostgreSQL is out of reach it waits and tries again.
 *
 * The returned function rejects where a settlement can't be written: the delivery comes due again when its lease ends.
 */
export function createSettleQueue(
  { queries, clock, metrics, log, signal }: Parts,
  thresholds: HealthThresholds,
): (settlement: Settlement) => Promise<void> {
  return batcher(
    async (settlements) => {
      try {
        await settleAll(settlements);
      } catch (error) {
        if (!isDataError(error) || settlements.length === 1) throw error;
        // One settlement that can't be written must not fail the others.
        for (const settlement of settlements) await settleAll([settlement]).catch(reportUnwritable(settlement));
      }
      return settlements.map(() => undefined);
    },
    { maxItems: MAX_BATCH, maxRunning: 1 },
  );

  async function settleAll(settlements: readonly Settlement[]): Promise<void> {
    metrics.settleBatchSize.observe(settlements.length);
    const changed = await retry(() => settle(queries, settlements, { now: clock.now(), ...thresholds }), {
      shouldRetry: (error) => !isDataError(error),
      onFirstFailure: (error) => {
        // Another transaction deletes an endpoint at this moment.
        if (isConflict(error)) return;
        log.error("attempts can't be settled; they wait until PostgreSQL takes them", { error });
      },
      signal,
    });
    for (const { endpointId, organizationId, disabled, consecutiveFailures } of changed) {
      if (!disabled) continue;
      metrics.endpointsDisabled.inc();
      log.warn("endpoint disabled after consecutive failures", { endpointId, organizationId, consecutiveFailures });
    }
  }

  function reportUnwritable({ deliveryId, endpointId, attempt }: Settlement) {
    return (error: unknown) =>
      log.error("an attempt can't be written down", { deliveryId, endpointId, attempt, error });
  }
}
