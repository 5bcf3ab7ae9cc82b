import type { Queries } from "@herald/common/database/queries";
import { shrinkingPages } from "@herald/common/database/shrinking";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { PublisherMetrics } from "./metrics.ts";
import { resting } from "./resting.ts";
import { eraseEndpointPage } from "./sql/erase-endpoint.ts";
import { type Erasure, finishErasure, giveBackErasure, takeErasure } from "./sql/take-erasure.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: Pick<PublisherMetrics, "erasedOfDeleted" | "taskFailures">;
  log: Log;
}

export interface ErasureOptions {
  /** Deliveries that one statement erases. */
  pageSize: number;
  /** After this time an erasure that was cut off is taken again, in milliseconds. Longer than a statement may take. */
  leaseMs: number;
}

/** Then it is the turn of the next endpoint. */
const PAGES_PER_TURN = 10;

/**
 * Makes the task that erases what deleted endpoints have left, in small steps and by turns. An erasure looks twice: at once, and when every fan-out
 * that still knew the endpoint is over. One that fails is tried again when its lease ends, and delays no other.
 *
 * A run resolves when nothing is due any more, or after the step under way when `signal` aborts.
 */
export function createErasure(
  { queries, clock, metrics, log }: Parts,
  { pageSize, leaseMs }: ErasureOptions,
): (signal: AbortSignal) => Promise<void> {
  const inPages = shrinkingPages({ max: pageSize });
  const lease = () => new Date(clock.now().getTime() + leaseMs);

  return async (signal) => {
    while (!signal.aborted) {
      const erasure = await takeErasure(queries, { now: clock.now(), leasedUntil: lease() });
      if (erasure === null) return;
      try {
        await takeTurn(erasure, signal);
      } catch (error) {
        const { endpointId } = erasure;
        metrics.taskFailures.inc({ task: "erasure" });
        log.error("a deleted endpoint's history can't be erased; it is tried again", { endpointId, error });
      }
    }
  };

  async function takeTurn(erasure: Erasure, signal: AbortSignal): Promise<void> {
    for (let pages = 0; pages < PAGES_PER_TURN && !signal.aborted; pages++) {
      const renewedUntil = lease();
      const page = await resting(
        () => inPages((size) => eraseEndpointPage(queries, erasure, { renewedUntil, pageSize: size })),
        signal,
      );
      metrics.erasedOfDeleted.inc(page.deliveryCount);
      if (!page.held) return;
      erasure.leasedUntil = renewedUntil;
      if (page.dueCount + page.deliveryCount === 0) return await finishErasure(queries, erasure, clock.now());
    }
    await giveBackErasure(queries, erasure, clock.now());
  }
}
