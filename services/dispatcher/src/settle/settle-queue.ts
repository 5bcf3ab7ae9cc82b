import { isDataError, isTooMuch } from "@herald/common/database/errors";
import { timeOf } from "@herald/common/database/ids";
import { shrinkingBatches } from "@herald/common/database/shrinking";
import { batcher } from "@herald/common/runtime/batcher";
import { retry } from "@herald/common/runtime/repeat";
import type { Basics } from "../basics.ts";
import { type ArrivedSettlement, recordArrived } from "../sql/record-arrived.ts";
import { type Settlement, settle } from "../sql/settle.ts";
import { isEndpointsFailure } from "./health.ts";
import type { HealthQueue } from "./health-queue.ts";
import type { Rates } from "./rates.ts";

interface Parts extends Basics {
  health: Pick<HealthQueue, "add" | "has">;
  rates: Pick<Rates, "add">;
}

/** Settlements of one statement. */
const MAX_BATCH = 500;

/**
 * Only the settlement of a manual delivery is waited for. Single settlements would each cost PostgreSQL and this process a wake-up, and the disk a
 * flush. Publishers hold an event that they have handed over on arrival for longer than this.
 */
const GATHER = { items: 100, forMs: 40, isAwaited: ({ settlement }: Ended) => settlement.manual };

/** Everything is kept for longer: RETENTION_DAYS is at least a day more than PUBLICATION_WINDOW_DAYS. */
const KEPT_MS = 24 * 60 * 60_000;

export type SettleQueue = ReturnType<typeof createSettleQueue>;

/** An attempt to be settled. */
interface Ended {
  settlement: Settlement;
  /** Whether its success ends a run of failures of its endpoint. */
  endsFailures: boolean;
}

/**
 * Settles attempts in batches, in the order in which they ended: one statement at a time, so that a later result of an endpoint is never counted
 * before an earlier one. While PostgreSQL is out of reach it waits; a statement that is too much for PostgreSQL is made smaller.
 */
export function createSettleQueue({ queries, clock, metrics, health, rates, log, signal }: Parts) {
  let isWriting = true;
  const inBatches = shrinkingBatches<Ended, never>(settleBatch, {
    max: MAX_BATCH,
    onShrunk: (size, error) => log.warn("settlements are made in smaller batches", { size, error }),
  });
  const queued = batcher<Ended, { error?: unknown }>(
    async (batch) => {
      const { setAside } = await inBatches(batch);
      metrics.unrecorded.inc(setAside.length);
      const refused = new Map(setAside.map(({ item, error }) => [item, { error }]));
      return batch.map((each) => refused.get(each) ?? {});
    },
    { maxItems: MAX_BATCH, maxRunning: 1, gather: GATHER },
  );

  async function settleBatch(batch: readonly Ended[]): Promise<never[]> {
    metrics.settleBatchSize.observe(batch.length);
    const settlements = batch.map(({ settlement }) => settlement);
    const arrived = settlements.filter(hasArrived);
    const stored = arrived.length > 0 ? await untilTaken(() => recordArrived(queries, arrived)) : new Set<Settlement>();
    const others = settlements.filter((each) => !stored.has(each));
    const settled = others.length > 0 ? await untilTaken(() => settle(queries, others)) : undefined;
    const late = new Set(settled?.late);
    metrics.resultsLate.inc(late.size);
    for (const each of settled?.missing ?? []) if (shouldBeThere(each)) unrecorded(each);
    for (const each of settlements) if (!late.has(each)) rates.add(each);
    for (const each of batch) {
      if (concernsHealth(each, late)) health.add(each.settlement.endpointId, each.settlement);
    }
    return [];
  }

  /** A row that was read may have been erased with its days. A message may lie about its days, so it is not asked. */
  const shouldBeThere = ({ deliveryId, handedOver }: Settlement) =>
    handedOver || clock.now().getTime() - timeOf(deliveryId).getTime() < KEPT_MS;

  function unrecorded({ deliveryId, endpointId, startedAt, statusCode }: Settlement): void {
    metrics.unrecorded.inc();
    const fields = { deliveryId, endpointId, startedAt, statusCode };
    log.error("an attempt was signed and sent, and its delivery is not stored: it was forged, or lost", fields);
  }

  async function untilTaken<T>(write: () => Promise<T>): Promise<T> {
    const written = await retry(write, {
      shouldRetry: (error) => !isDataError(error) && !isTooMuch(error),
      onFirstFailure: (error) => {
        isWriting = false;
        log.error("attempts can't be settled; they wait until PostgreSQL takes them", { error });
      },
      signal,
    });
    isWriting = true;
    return written;
  }

  /**
   * A healthy endpoint's success changes nothing, unless a failure before it is not written yet. A failure of an attempt that another dispatcher has
   * repeated is not the endpoint's fault.
   */
  function concernsHealth({ settlement, endsFailures }: Ended, late: ReadonlySet<Settlement>): boolean {
    const { endpointId, succeeded, failureKind } = settlement;
    if (succeeded) return endsFailures || health.has(endpointId);
    return isEndpointsFailure(failureKind) && !late.has(settlement);
  }

  return {
    /** Rejects if a settlement can't be written. Its delivery stays due. */
    async settle(settlement: Settlement, endsFailures: boolean): Promise<void> {
      const outcome = await queued({ settlement, endsFailures });
      if ("error" in outcome) throw outcome.error;
    },
    /** Whether PostgreSQL takes settlements now, as far as is known. */
    isWriting: () => isWriting,
  };
}

function hasArrived(settlement: Settlement): settlement is ArrivedSettlement {
  return settlement.unstored !== undefined;
}
