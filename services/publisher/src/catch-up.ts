import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { type EventCursor, fillGaps } from "./sql/fill-gaps.ts";
import { type CatchUp, finishCatchUp, takeCatchUp } from "./sql/take-catch-up.ts";
import { unpark } from "./sql/unpark.ts";

export interface CatchUpOptions {
  /** Events read per statement (SPEC 8: 1,000), and deliveries woken per statement. */
  pageSize: number;
  /** How far back events are delivered (SPEC 8: seven days), in milliseconds. */
  windowMs: number;
}

export interface CatchUpResult {
  unparked: number;
  filled: number;
}

/**
 * When a catch-up that was cut off comes again. Longer than one takes; where a vast one takes longer still, a second process
 * does the same, which makes nothing twice.
 */
const LEASE_MS = 2 * 60_000;

/** Without any mark, every enabled endpoint is looked at once a day: a guard against what nobody thought of. */
const GUARD_INTERVAL_MS = 24 * 60 * 60_000;

/**
 * Brings every endpoint whose catch-up has come up to date: wakes its parked deliveries, and makes those that it
 * missed while it was disabled, not subscribed, or not yet there for a fan-out (SPEC 3.1, 6.1).
 * Resolves when there is nothing left to do now; `isStopping` ends it after the statement under way. Takes one endpoint at
 * a time, so that a failure holds up no other: the next turn goes on with it.
 */
export async function catchUp(
  { queries, clock, log }: { queries: Queries; clock: Clock; log: Log },
  { pageSize, windowMs }: CatchUpOptions,
  isStopping: () => boolean = () => false,
): Promise<CatchUpResult> {
  const total = { unparked: 0, filled: 0 };
  while (!isStopping()) {
    const now = clock.now();
    const endpoint = await takeCatchUp(queries, { now, leasedUntil: after(now, LEASE_MS) });
    if (endpoint === null) break;
    const { unparked, filled, finished } = await catchUpEndpoint(endpoint);
    total.unparked += unparked;
    total.filled += filled;
    if (!finished) break;
  }
  return total;

  async function catchUpEndpoint(endpoint: CatchUp): Promise<CatchUpResult & { finished: boolean }> {
    const { endpointId, organizationId } = endpoint;
    const windowStart = after(clock.now(), -windowMs);
    let unparked = 0;
    for (let woken = pageSize; woken === pageSize; unparked += woken) {
      if (isStopping()) return { unparked, filled: 0, finished: false };
      woken = await unpark(queries, { endpointId, now: clock.now(), pageSize });
    }
    let filled = 0;
    let cursor: EventCursor | null = null;
    for (let eventCount = pageSize; eventCount === pageSize; ) {
      if (isStopping()) return { unparked, filled, finished: false };
      const page = await fillGaps(queries, { endpointId, after: cursor, windowStart, now: clock.now(), pageSize });
      ({ eventCount, cursor } = page);
      filled += page.deliveryCount;
    }
    const now = clock.now();
    await finishCatchUp(queries, endpoint, { now, nextAt: after(now, GUARD_INTERVAL_MS) });
    if (unparked + filled > 0) log.info("caught up an endpoint", { endpointId, organizationId, unparked, filled });
    return { unparked, filled, finished: true };
  }
}

function after(time: Date, milliseconds: number): Date {
  return new Date(time.getTime() + milliseconds);
}
