import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { PublisherMetrics } from "./metrics.ts";
import { backfill, type EventCursor } from "./sql/backfill.ts";
import { type CatchUp, finishCatchUp, takeCatchUp } from "./sql/take-catch-up.ts";
import { unpark } from "./sql/unpark.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: Pick<PublisherMetrics, "caughtUp">;
  log: Log;
}

export interface CatchUpOptions {
  /** Events read per statement (SPEC 8: 1,000), and deliveries unparked per statement. */
  pageSize: number;
  /** How far back events are delivered (SPEC 8: seven days), in milliseconds. */
  windowMs: number;
}

export interface CatchUpResult {
  unparked: number;
  backfilled: number;
}

/**
 * After this time, a catch-up that was cut off is taken again. It is longer than most catch-ups take. Where one takes longer
 * still, a second process does the same work, and no delivery is made twice.
 */
const LEASE_MS = 2 * 60_000;

/** Without any mark, every enabled endpoint is caught up once a day, in case a mark was lost in a way that is not foreseen. */
const GUARD_INTERVAL_MS = 24 * 60 * 60_000;

/**
 * Brings every endpoint whose catch-up is due up to date: makes its parked deliveries pending, and adds the deliveries that
 * it missed while it was disabled, not subscribed, or not yet visible to a fan-out (SPEC 3.1, 6.1).
 * Resolves when no catch-up is due any more; `signal` ends it after the statement under way. Takes one endpoint at a time,
 * so that a failure delays no other endpoint: the next call goes on with them.
 */
export async function catchUp(
  { queries, clock, metrics, log }: Parts,
  { pageSize, windowMs }: CatchUpOptions,
  signal: AbortSignal,
): Promise<CatchUpResult> {
  const total = { unparked: 0, backfilled: 0 };
  while (!signal.aborted) {
    const now = clock.now();
    const endpoint = await takeCatchUp(queries, { now, leasedUntil: after(now, LEASE_MS) });
    if (endpoint === null) break;
    await catchUpEndpoint(endpoint);
  }
  return total;

  async function catchUpEndpoint(endpoint: CatchUp): Promise<void> {
    const { endpointId, organizationId } = endpoint;
    const windowStart = after(clock.now(), -windowMs);
    const caughtUp = { unparked: 0, backfilled: 0 };
    for (let count = pageSize; count === pageSize; ) {
      if (signal.aborted) return;
      count = await unpark(queries, { endpointId, now: clock.now(), pageSize });
      add("unparked", count);
    }
    let cursor: EventCursor | null = null;
    for (let eventCount = pageSize; eventCount === pageSize; ) {
      if (signal.aborted) return;
      const page = await backfill(queries, { endpointId, after: cursor, windowStart, now: clock.now(), pageSize });
      ({ eventCount, cursor } = page);
      add("backfilled", page.deliveryCount);
    }
    const now = clock.now();
    await finishCatchUp(queries, endpoint, { now, nextAt: after(now, GUARD_INTERVAL_MS) });
    if (caughtUp.unparked + caughtUp.backfilled > 0) {
      log.info("caught up an endpoint", { endpointId, organizationId, ...caughtUp });
    }

    function add(kind: keyof CatchUpResult, count: number): void {
      caughtUp[kind] += count;
      total[kind] += count;
      metrics.caughtUp.inc({ kind }, count);
    }
  }
}

function after(time: Date, milliseconds: number): Date {
  return new Date(time.getTime() + milliseconds);
}
