import { STALLED_MS } from "@herald/common/database/statement-failures";
import { retry } from "@herald/common/runtime/repeat";
import type { Basics } from "../basics.ts";
import { hasArrived } from "../sql/record-arrived.ts";
import type { Settlement } from "../sql/settle.ts";

export interface Result {
  settlement: Settlement;
  endedAtMs: number;
  /** Called when the result begins to wait for a locked row. */
  onLocked: () => void;
}

/** Another transaction holds a row, or has just changed it. That is usual, and is not logged. */
export class RowTakenError extends Error {}

/**
 * Results whose rows another transaction has locked, and the later results of their endpoints, which keep their order. They hold up no others, and
 * are tried again and again, until they are stored or the signal ends the waiting. `store` removes those that it stores. `isStalled` says whether
 * PostgreSQL takes no results at all: then locked rows are not the reason.
 */
export function createLockedResults<R extends Result>(
  { clock, log, signal }: Basics,
  { store, isStalled }: { store: (results: readonly R[]) => Promise<void>; isStalled: () => boolean },
) {
  /** The waiting results of each endpoint, by its id; the oldest result first. */
  const lines = new Map<string, Set<R>>();
  let isTrying = false;
  let isSaid = false;

  const lineOf = ({ settlement }: R) => lines.get(settlement.endpointId);

  /** An insert of a result on arrival may have to wait, so such results are tried by themselves. */
  async function storeAll(): Promise<void> {
    const all = [...lines.values()].map((line) => [...line]);
    const mayWait = (line: readonly R[]) => line.some(({ settlement }) => hasArrived(settlement));
    await store(all.filter((line) => !mayWait(line)).flat());
    for (const line of all.filter(mayWait)) await store(line);
    sayIfLong();
    if (lines.size > 0) throw new RowTakenError();
  }

  async function tryAgain(): Promise<void> {
    isTrying = true;
    const again = { shouldRetry: () => true, onFirstFailure() {}, signal, firstDelayMs: 20 };
    // The signal ends it with an error. Another result may have come when it ends without one.
    while (lines.size > 0 && !signal.aborted) await retry(storeAll, again).catch(() => {});
    isTrying = false;
  }

  function sayIfLong(): void {
    const [line = []] = lines.values();
    const [oldest] = line;
    if (oldest === undefined) {
      if (isSaid) log.info("no result waits for a locked row any more");
      isSaid = false;
    } else if (!isSaid && !isStalled() && clock.monotonicMs() - oldest.endedAtMs >= STALLED_MS) {
      const { deliveryId, endpointId } = oldest.settlement;
      const fields = { deliveryId, endpointId, endpoints: lines.size };
      log.warn("another session has locked rows of deliveries: their results wait, and so do their endpoints", fields);
      isSaid = true;
    }
  }

  return {
    /** Whether the result waits here, or no result of its endpoint does. */
    isInTurn: (result: R) => lineOf(result)?.has(result) ?? true,
    /** Whether an older result of its endpoint waits here. */
    isBehind: (result: R) => (lineOf(result)?.values().next().value ?? result) !== result,
    add(result: R): void {
      const line = lineOf(result) ?? new Set();
      if (line.has(result)) return;
      lines.set(result.settlement.endpointId, line.add(result));
      result.onLocked();
      if (!isTrying) void tryAgain();
    },
    remove(result: R): void {
      const line = lineOf(result);
      if (line?.delete(result) && line.size === 0) lines.delete(result.settlement.endpointId);
    },
  };
}
