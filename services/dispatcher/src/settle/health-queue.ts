import { once } from "node:events";
import { batcher } from "@herald/common/runtime/batcher";
import { retry } from "@herald/common/runtime/repeat";
import type { Basics } from "../basics.ts";
import { readHealth, writeHealth } from "../sql/endpoint-health.ts";
import type { Health, HealthStep } from "../sql/rows.ts";
import { type HealthResult, isWritten, nextHealth, type Thresholds } from "./health.ts";
import { RowTakenError } from "./locked-results.ts";

export type HealthQueue = ReturnType<typeof createHealthQueue>;

/** The results of one endpoint that are not written yet. */
interface Line {
  endpointId: string;
  results: HealthResult[];
  /** A step whose answer was lost, and the health that it was computed from. */
  unsure?: { before: Health; step: HealthStep } | undefined;
}

/**
 * Writes what settled attempts mean for the health of their endpoints: the results of each in their order, one statement at a time. If the row is
 * locked, or another dispatcher has just changed it, the write is tried again after a pause, in which other endpoints are written.
 */
export function createHealthQueue({ queries, clock, metrics, log, signal }: Basics, thresholds: Thresholds) {
  const lines = new Map<string, Line>();
  const writing = new Set<Promise<void>>();
  /** Two endpoints are written at once, each on a connection. */
  const inTurn = batcher(async ([line]: Line[]) => [await writeStep(line as Line)], { maxItems: 1, maxRunning: 2 });

  async function write(line: Line): Promise<void> {
    const { endpointId, results } = line;
    while (results.length > 0 && !signal.aborted) {
      await retry(() => inTurn(line), {
        // A usual error is a locked row. If PostgreSQL refuses the write for good, giving up would not help: it would refuse the next one too.
        shouldRetry() {
          metrics.healthRetries.inc();
          return true;
        },
        onFirstFailure(error) {
          if (error instanceof RowTakenError) return;
          log.error("an endpoint's health can't be written; it is tried again", { endpointId, error });
        },
        signal,
        firstDelayMs: 20,
      }).catch(() => {}); // The signal ended the waiting.
    }
    lines.delete(endpointId);
  }

  /** Uses results up. @throws if nothing could be written */
  async function writeStep(line: Line): Promise<void> {
    const { endpointId, results, unsure } = line;
    const before = await readHealth(queries, endpointId);
    if (before === undefined) return void results.splice(0);
    line.unsure = undefined;
    const isThere = unsure !== undefined && isWritten(unsure.step, unsure.before, before);
    const step = isThere ? unsure.step : nextHealth(before, results, thresholds);
    if (!isThere && step.changed) {
      line.unsure = { before, step };
      const written = await writeHealth(queries, endpointId, { before, step, now: clock.now() });
      line.unsure = undefined;
      if (!written) throw new RowTakenError();
    }
    const lastError = results.splice(0, step.used).at(-1)?.errorSummary;
    if (!step.disabled) return;
    metrics.endpointsDisabled.inc();
    const consecutiveFailures = step.failureRun.length;
    const { organizationId } = before;
    const fields = { organizationId, endpointId, consecutiveFailures, lastError };
    log.warn("an endpoint was disabled after failures in a row", fields);
  }

  return {
    /** Takes a result of an endpoint, in the order in which results were settled. */
    add(endpointId: string, result: HealthResult): void {
      const results = lines.get(endpointId)?.results;
      if (results) {
        const last = results.at(-1);
        // A success after a success says nothing new. So a line stays short, however long its endpoint's row is locked.
        if (result.succeeded && last?.succeeded && last.revision === result.revision) return;
        results.push(result);
        return;
      }
      const line = { endpointId, results: [result] };
      lines.set(endpointId, line);
      const written = write(line).finally(() => writing.delete(written));
      writing.add(written);
    },
    has: (endpointId: string) => lines.has(endpointId),
    /** Resolves when all is written, or when the signal ends the waiting. */
    async drained(): Promise<void> {
      const aborted = once(signal, "abort");
      while (writing.size > 0 && !signal.aborted) await Promise.race([Promise.all(writing), aborted]);
    },
  };
}
