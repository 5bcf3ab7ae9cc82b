import { ARRIVAL } from "@herald/common/broker/arrival";
import { isDataError, isTooMuch } from "@herald/common/database/errors";
import { timeOf } from "@herald/common/database/ids";
import { untilAnswered } from "@herald/common/database/queries";
import { shrinkingBatches } from "@herald/common/database/shrinking";
import { STALLED_MS } from "@herald/common/database/statement-failures";
import { batcher } from "@herald/common/runtime/batcher";
import type { Basics } from "../basics.ts";
import { hasArrived, recordArrived } from "../sql/record-arrived.ts";
import { type Settled, type Settlement, settle } from "../sql/settle.ts";
import { isEndpointsFailure } from "./health.ts";
import type { HealthQueue } from "./health-queue.ts";
import { createLockedResults, type Result } from "./locked-results.ts";
import type { Rates } from "./rates.ts";

const MAX_BATCH = 500;

/**
 * Only the settlement of a manual delivery is waited for. Single settlements would each cost PostgreSQL and this process a wake-up, and the disk a
 * flush. Publishers hold an event that they have handed over on arrival for longer than this.
 */
const GATHER = { items: 100, forMs: 40, isAwaited: ({ settlement }: Ended) => settlement.manual };

/** Everything is kept for longer: RETENTION_DAYS is at least a day more than PUBLICATION_WINDOW_DAYS. */
const KEPT_MS = 24 * 60 * 60_000;

export type SettleQueue = ReturnType<typeof createSettleQueue>;

interface Ended extends Result {
  /** Whether its success ends a run of failures of its endpoint. */
  endsFailures: boolean;
  resolve: (isStored: boolean) => void;
  reject: (error: unknown) => void;
}

/**
 * Settles attempts in batches, those of an endpoint in the order in which they ended, so that a later result is never counted before an earlier one.
 * While PostgreSQL is out of reach it waits; a statement that is too much for PostgreSQL is made smaller. A result whose row is locked waits apart
 * (locked-results.ts), and so does one that PostgreSQL can't store in time though it is alone.
 */
export function createSettleQueue(parts: Basics & { health: HealthQueue; rates: Rates }) {
  const { queries, createProgress, clock, metrics, health, rates, log, signal } = parts;
  /** The oldest first. */
  const unstored = new Set<Ended>();
  const progress = createProgress();
  const inBatches = shrinkingBatches(settleBatch, { max: MAX_BATCH, what: "results of attempts", log, progress });
  const queued = batcher(storeAll, { maxItems: MAX_BATCH, maxRunning: 1, gather: GATHER });
  const locked = createLockedResults<Ended>(parts, { store, isStalled: () => progress.stalledMs() >= STALLED_MS });
  signal.addEventListener("abort", giveUp);

  async function storeAll(batch: Ended[]): Promise<undefined[]> {
    const isOver = await store(batch).then(
      () => signal.aborted,
      () => true,
    );
    if (isOver) giveUp();
    return batch.map(() => undefined);
  }

  async function store(batch: readonly Ended[]): Promise<void> {
    const { setAside } = await inBatches(batch);
    for (const { item, error } of setAside) if (isDataError(error)) refuse(item, error);
  }

  async function settleBatch(batch: readonly Ended[]): Promise<never[]> {
    const ended = batch.filter(locked.isInTurn);
    for (const each of batch) if (!locked.isInTurn(each)) locked.add(each);
    if (ended.length === 0) return [];
    metrics.settleBatchSize.observe(ended.length);
    const { taken, late, missing } = await write(ended.map(({ settlement }) => settlement)).catch((error) => {
      if (isTooMuch(error) && ended.length === 1) locked.add(ended[0] as Ended);
      throw error;
    });
    for (const each of ended) {
      const { settlement } = each;
      if (!unstored.has(each)) continue;
      if (taken.has(settlement) || locked.isBehind(each)) locked.add(each);
      else stored(each, { isLate: late.has(settlement), isMissing: missing.has(settlement) });
    }
    return [];
  }

  async function write(settlements: readonly Settlement[]): Promise<Settled> {
    const arrived = settlements.filter(hasArrived);
    const recorded = await ask(() => recordArrived(queries, arrived));
    const others = settlements.filter((each) => !recorded.stored.has(each) && !recorded.taken.has(each));
    const settled = await ask(() => settle(queries, others));
    for (const each of recorded.taken) settled.taken.add(each);
    return settled;
  }

  const ask = <T>(statement: () => Promise<T>): Promise<T> =>
    untilAnswered(parts, "attempts can't be settled; they wait until PostgreSQL takes them", statement);

  function stored(each: Ended, { isLate, isMissing }: { isLate: boolean; isMissing: boolean }): void {
    const { settlement, endsFailures, resolve } = each;
    remove(each);
    if (isMissing && shouldBeThere(settlement)) unrecorded(settlement);
    if (isLate) metrics.resultsLate.inc();
    else rates.add(settlement);
    if (concernsHealth(settlement, { endsFailures, isLate })) health.add(settlement.endpointId, settlement);
    resolve(true);
  }

  function refuse(each: Ended, error: unknown): void {
    remove(each);
    metrics.unrecorded.inc();
    each.reject(error);
  }

  function remove(each: Ended): void {
    unstored.delete(each);
    locked.remove(each);
  }

  /** A stop waits no longer. */
  function giveUp(): void {
    const left = [...unstored];
    if (left.length > 0) log.error(`${left.length} results are not stored; these deliveries will be attempted again`);
    for (const each of left) {
      remove(each);
      each.resolve(false);
    }
  }

  /**
   * A missing row is an error if the delivery is young. If it is older than the retention, its partition may have been dropped. The id says how old it
   * is; a message could claim anything.
   */
  const shouldBeThere = ({ deliveryId, handedOver }: Settlement) =>
    handedOver || clock.now().getTime() - timeOf(deliveryId).getTime() < KEPT_MS;

  function unrecorded({ deliveryId, endpointId, startedAt, statusCode }: Settlement): void {
    metrics.unrecorded.inc();
    const fields = { deliveryId, endpointId, startedAt, statusCode };
    log.error("an attempt was signed and sent, and its delivery is not stored: it was forged, or lost", fields);
  }

  /**
   * A healthy endpoint's success changes nothing, unless a failure before it is not written yet. A failure of an attempt that another dispatcher has
   * repeated is not the endpoint's fault.
   */
  function concernsHealth(
    { endpointId, succeeded, failureKind }: Settlement,
    { endsFailures, isLate }: { endsFailures: boolean; isLate: boolean },
  ): boolean {
    if (succeeded) return endsFailures || health.has(endpointId);
    return isEndpointsFailure(failureKind) && !isLate;
  }

  return {
    /**
     * Returns whether the result is stored. If not, since a stop does not wait any longer, its delivery stays due; also if this rejects, since
     * PostgreSQL refuses it.
     */
    settle(settlement: Settlement, endsFailures: boolean, onLocked = () => {}): Promise<boolean> {
      return new Promise((resolve, reject) => {
        const ended = { settlement, endsFailures, endedAtMs: clock.monotonicMs(), onLocked, resolve, reject };
        unstored.add(ended);
        void queued(ended);
      });
    },
    /** Whether PostgreSQL takes results now, as far as is known. */
    isWriting: () => progress.stalledMs() <= ARRIVAL.slowMs,
    oldestUnstoredSeconds(): number {
      const [oldest] = unstored;
      return oldest ? (clock.monotonicMs() - oldest.endedAtMs) / 1_000 : 0;
    },
  };
}
