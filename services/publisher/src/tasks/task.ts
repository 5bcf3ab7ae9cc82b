import { setTimeout as sleep } from "node:timers/promises";
import { withRemedy } from "@herald/common/database/errors";
import { shrinkingPages } from "@herald/common/database/shrinking";
import type { Basics } from "../basics.ts";
import type { TASKS } from "../metrics.ts";
import type { ForOwners } from "../sql/rows.ts";
import { giveBack, type Lease, type PageBounds, type Work, type WorkPage } from "../sql/work.ts";

export type MakingParts = Basics & { handOver: (made: ForOwners) => void };

/** Counts and logs a failure of a step. The task continues without it, and tries it again later. */
export function stepFailed(
  { metrics, log }: Basics,
  task: (typeof TASKS)[number],
  failure: string,
  about: { error: unknown; endpointId?: string; days?: readonly string[] },
): void {
  metrics.taskFailures.inc({ task });
  log.error(withRemedy(failure, about.error), about);
}

/** Runs a step, and rests for as long as it took. So a task of many steps uses at most half of one connection. */
export async function resting<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const begun = performance.now();
  const result = await step();
  await sleep(performance.now() - begun, undefined, { signal }).catch(() => undefined);
  return result;
}

export interface TurnOptions {
  pageSize: number;
  /** The lease of the work, in milliseconds: longer than a statement may take. The work of a process that died is taken again after it. */
  leaseMs: number;
}

interface Kind<Taken extends Work> {
  task: "catch-up" | "erasure" | "resend";
  /** The table whose rows say when an endpoint's work is due; absent if each page writes that itself, and is a turn. */
  table?: "catch_up" | "erasure";
  /** Takes the next work, and moves its time past the lease; null if none is due. */
  take(lease: Lease): Promise<Taken | null>;
  /** Does a page of the work, and in the same statement renews the lease or ends the work. */
  page(taken: Taken, bounds: PageBounds, signal: AbortSignal): Promise<WorkPage>;
  /** The message to log after a turn that changed something, if any; `failure` is logged after one that failed. */
  done?: string;
  failure: string;
}

/** After this many pages the endpoint goes behind the others, so that no endpoint waits for the end of long work. */
const PAGES_PER_TURN = 10;

/**
 * Creates a task that does work of endpoints in turns of some pages, as long as any is due. Several processes may do so at once: each work has a
 * lease, and continues where the last turn ended, in any process. If a turn fails, its work is taken again when the lease ends; the others go on. A
 * run resolves with the number of deliveries.
 */
export function byTurns<Taken extends Work>(
  parts: Basics,
  { task, table, take, page, done, failure }: Kind<Taken>,
  { pageSize: max, leaseMs }: TurnOptions,
): (signal: AbortSignal) => Promise<number> {
  const { queries, clock, log } = parts;
  const inPages = shrinkingPages({ max });

  function lease(): Lease {
    const now = clock.now();
    return { now, leasedUntil: new Date(now.getTime() + leaseMs) };
  }

  async function takeTurn(taken: Taken, signal: AbortSignal): Promise<number> {
    let deliveries = 0;
    for (let pages = 0; pages < PAGES_PER_TURN && !signal.aborted; pages++) {
      const { renewedUntil, held, ended, deliveryCount } = await inPages(async (pageSize) => {
        // If this page is too much for one statement, each smaller page has its own lease.
        const { now, leasedUntil: renewedUntil } = lease();
        return { renewedUntil, ...(await page(taken, { pageSize, now, renewedUntil }, signal)) };
      });
      deliveries += deliveryCount;
      if (ended || !held) return deliveries;
      taken.leasedUntil = renewedUntil;
    }
    if (table) await giveBack(queries, table, taken, clock.now());
    return deliveries;
  }

  return async (signal) => {
    let total = 0;
    while (!signal.aborted) {
      const taken = await take(lease());
      if (taken === null) break;
      const { endpointId } = taken;
      try {
        const deliveries = await takeTurn(taken, signal);
        if (done && deliveries > 0) log.info(done, { endpointId, deliveries });
        total += deliveries;
      } catch (error) {
        stepFailed(parts, task, failure, { endpointId, error });
      }
    }
    return total;
  };
}
