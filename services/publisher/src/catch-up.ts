import { firstIdAt } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import { shrinkingPages } from "@herald/common/database/shrinking";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { PublisherMetrics } from "./metrics.ts";
import { type BackfillTimes, backfill } from "./sql/backfill.ts";
import {
  type CatchUp,
  type CatchUpEndpoint,
  giveBackCatchUp,
  readEndpoint,
  removeCatchUp,
  suspendCatchUp,
  takeCatchUp,
} from "./sql/take-catch-up.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: Pick<PublisherMetrics, "caughtUp" | "taskFailures">;
  log: Log;
  /** Tells dispatchers that these endpoints have work. */
  hint: (endpointIds: readonly string[]) => void;
}

export interface CatchUpOptions {
  /** Events read per statement (SPEC 8: 1,000). */
  pageSize: number;
  /** How far back events are delivered (SPEC 8: seven days), in milliseconds. */
  windowMs: number;
  /** After this time a catch-up that was cut off is taken again, in milliseconds. Longer than a statement may take. */
  leaseMs: number;
}

/** Then the endpoint goes behind the others, so that nobody waits for the end of a long catch-up. */
const PAGES_PER_TURN = 10;

const DAY_MS = 24 * 60 * 60_000;

/** Each enabled endpoint is caught up once a day without being asked, in case an event was missed in a way that is not foreseen. */
const GUARD_INTERVAL_MS = DAY_MS;

/** The guard looks back beyond what the last pass saw: events that were stored behind its cursor meanwhile are looked at too. */
const GUARD_OVERLAP_MS = DAY_MS;

/**
 * Makes the task that gives every endpoint whose catch-up is due the deliveries that it missed while it was disabled, not subscribed, or not yet
 * visible to a fan-out (SPEC 3.1, 6.1). Endpoints take turns of some pages; a cursor says where the next turn goes on, whoever
 * takes it. One that fails is tried again when its lease ends, and delays no other.
 *
 * A run resolves with the number of deliveries when no catch-up is due any more; `signal` ends it after the statement under way.
 */
export function createCatchUp(
  { queries, clock, metrics, log, hint }: Parts,
  { pageSize, windowMs, leaseMs }: CatchUpOptions,
): (signal: AbortSignal) => Promise<number> {
  const inPages = shrinkingPages({ max: pageSize });

  return async (signal) => {
    let total = 0;
    while (!signal.aborted) {
      const now = clock.now();
      const taken = await takeCatchUp(queries, { now, leasedUntil: after(now, leaseMs) });
      if (taken === null) break;
      try {
        total += await take(taken, signal);
      } catch (error) {
        metrics.taskFailures.inc({ task: "catch-up" });
        log.error("a catch-up failed; it is tried again", { endpointId: taken.endpointId, error });
      }
    }
    return total;
  };

  /** Returns the number of deliveries made. */
  async function take(taken: CatchUp, signal: AbortSignal): Promise<number> {
    const { endpointId } = taken;
    const endpoint = await readEndpoint(queries, endpointId);
    if (endpoint?.enabled) {
      const made = await takeTurn(taken, endpoint, signal);
      if (made > 0) log.info("caught up an endpoint", { endpointId, deliveries: made });
      return made;
    }
    await (endpoint === null ? removeCatchUp(queries, taken) : suspendCatchUp(queries, taken));
    return 0;
  }

  async function takeTurn(taken: CatchUp, endpoint: CatchUpEndpoint, signal: AbortSignal): Promise<number> {
    const { organizationId, createdAt } = endpoint;
    const begunAt = clock.now();
    let cursor = latest(taken.cursor ?? "", firstIdAt(beginningOf(taken, createdAt, begunAt)));
    let made = 0;
    for (let pages = 0; pages < PAGES_PER_TURN && !signal.aborted; pages++) {
      // Smaller pages, where this one is too much, have a lease of their own.
      let times = timesAt(clock.now(), begunAt);
      const page = await inPages((size) => {
        times = timesAt(clock.now(), begunAt);
        return backfill(queries, taken, { organizationId, after: cursor, pageSize: size }, times);
      });
      if (page.deliveryCount > 0) {
        made += page.deliveryCount;
        metrics.caughtUp.inc(page.deliveryCount);
        hint([taken.endpointId]);
      }
      if (page.ended || !page.held) return made;
      taken.leasedUntil = times.renewedUntil;
      cursor = page.cursor ?? cursor;
    }
    await giveBackCatchUp(queries, taken, clock.now());
    return made;
  }

  function timesAt(now: Date, begunAt: Date): BackfillTimes {
    return { now, renewedUntil: after(now, leaseMs), guardAt: after(now, GUARD_INTERVAL_MS), completeTo: begunAt };
  }

  /** The time of the first event of a pass: never before the endpoint's creation (SPEC 6.1/creation) or the window. */
  function beginningOf({ priority, completeTo }: CatchUp, createdAt: Date, now: Date): Date {
    const watermark = priority === 0 || completeTo === null ? 0 : completeTo.getTime() - GUARD_OVERLAP_MS;
    return new Date(Math.max(createdAt.getTime(), now.getTime() - windowMs, watermark));
  }
}

function after(time: Date, milliseconds: number): Date {
  return new Date(time.getTime() + milliseconds);
}

/** Of two ids the greater one. As text they sort as PostgreSQL sorts them. */
function latest(one: string, other: string): string {
  return one > other ? one : other;
}
