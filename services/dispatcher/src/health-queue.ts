import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import {
  type Health,
  type HealthResult,
  type HealthStep,
  type HealthThresholds,
  isWritten,
  nextHealth,
} from "./health.ts";
import type { DispatcherMetrics } from "./metrics.ts";
import { readHealth } from "./sql/read-health.ts";
import { writeHealth } from "./sql/write-health.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: Pick<DispatcherMetrics, "endpointsDisabled" | "healthRetries">;
  log: Log;
  /** Ends the writing, and the waiting for it. */
  signal: AbortSignal;
}

/** Writes down what settled attempts mean for their endpoints. */
export interface HealthQueue {
  /** Takes a result of an endpoint, in the order in which results were settled. */
  add(endpointId: string, result: HealthResult): void;
  /** Whether results of this endpoint are not written yet. */
  has(endpointId: string): boolean;
  /** Resolves when all is written, or when the signal ends the waiting. */
  drained(): Promise<void>;
}

interface Waiting {
  results: HealthResult[];
  /** Tries since the last one that worked. */
  failures: number;
  /** A step whose answer was lost, and what it was computed from. */
  unsure?: { before: Health; step: HealthStep };
}

/** Endpoints written at once: connections that this takes. */
const MAX_RUNNING = 2;

const RETRY = { firstMs: 20, longestMs: 2_000 };

/**
 * Each endpoint has its own line of results, written in their order, one statement at a time. A row that is locked, or that
 * another dispatcher has just changed, is tried again after a pause, in which its place serves other endpoints. So nothing
 * waits for an endpoint's row but that endpoint's health.
 */
export function createHealthQueue(
  { queries, clock, metrics, log, signal }: Parts,
  thresholds: HealthThresholds,
): HealthQueue {
  const endpoints = new Map<string, Waiting>();
  const ready = new Set<string>();
  let running = 0;
  let resolveDrained = () => {};
  let drained: Promise<void> | undefined;

  function wake(): void {
    for (const endpointId of ready) {
      if (running >= MAX_RUNNING || signal.aborted) return;
      ready.delete(endpointId);
      running++;
      void serve(endpointId);
    }
  }

  async function serve(endpointId: string): Promise<void> {
    const waiting = endpoints.get(endpointId) as Waiting;
    let progressed = false;
    try {
      progressed = await writeStep(endpointId, waiting);
    } catch (error) {
      // The same may be refused for ever, but then so would be any other statement of this endpoint.
      if (waiting.failures === 0)
        log.error("an endpoint's health can't be written; it is tried again", { endpointId, error });
    }
    running--;
    if (waiting.results.length === 0) forget(endpointId);
    else if (progressed) {
      waiting.failures = 0;
      ready.add(endpointId);
    } else retryLater(endpointId, waiting);
    wake();
  }

  /** Returns whether results were used up. */
  async function writeStep(endpointId: string, waiting: Waiting): Promise<boolean> {
    const before = await readHealth(queries, endpointId);
    const { unsure } = waiting;
    if (before === undefined) waiting.results = [];
    else if (unsure && isWritten(unsure.step, unsure.before, before)) written(endpointId, waiting, unsure.step);
    else {
      const step = nextHealth(before, waiting.results, thresholds);
      if (step.changed) {
        waiting.unsure = { before, step };
        const answer = await writeHealth(queries, endpointId, { before, step, now: clock.now() });
        delete waiting.unsure;
        if (!answer) return false;
      }
      written(endpointId, waiting, step);
    }
    return true;
  }

  function written(endpointId: string, waiting: Waiting, { used, disabled, failureRun }: HealthStep): void {
    delete waiting.unsure;
    waiting.results.splice(0, used);
    if (!disabled) return;
    metrics.endpointsDisabled.inc();
    log.warn("endpoint disabled after consecutive failures", { endpointId, consecutiveFailures: failureRun.length });
  }

  function retryLater(endpointId: string, waiting: Waiting): void {
    metrics.healthRetries.inc();
    const longestMs = Math.min(RETRY.firstMs * 2 ** waiting.failures++, RETRY.longestMs);
    // At random, since of several dispatchers that write the same endpoint one is always first.
    const again = () => {
      ready.add(endpointId);
      wake();
    };
    setTimeout(again, longestMs * (0.5 + Math.random() / 2)).unref();
  }

  function forget(endpointId: string): void {
    endpoints.delete(endpointId);
    if (endpoints.size > 0) return;
    resolveDrained();
    drained = undefined;
  }

  return {
    add(endpointId, result) {
      const waiting = endpoints.get(endpointId);
      if (waiting) {
        const last = waiting.results.at(-1);
        // A success after a success says nothing new. So a line stays short, however long its endpoint's row is locked.
        if (result.succeeded && last?.succeeded && last.revision === result.revision) return;
        waiting.results.push(result);
        return;
      }
      endpoints.set(endpointId, { results: [result], failures: 0 });
      ready.add(endpointId);
      wake();
    },
    has: (endpointId) => endpoints.has(endpointId),
    drained() {
      if (endpoints.size === 0 || signal.aborted) return Promise.resolve();
      drained ??= new Promise((resolve) => {
        resolveDrained = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      return drained;
    },
  };
}
