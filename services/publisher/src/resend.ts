import { shrinkingPages } from "@herald/common/database/shrinking";
import type { ForOwners } from "./hand-over.ts";
import { makeResendPage } from "./sql/resend-page.ts";
import { takeResend } from "./sql/take-resend.ts";
import { stepFailed, type TaskParts } from "./task.ts";

interface Parts extends TaskParts {
  /** Tells the owner of an endpoint that it has new deliveries. */
  handOver: (made: ForOwners) => void;
}

export interface ResendOptions {
  /** After this time, a resend that was cut off is taken again, in milliseconds. Longer than a statement may take. */
  leaseMs: number;
}

/** How many deliveries of the history one statement reads. */
const PAGE_SIZE = 500;

/** How many deliveries of one resend may wait at once. With the pause between pages, a resend makes about fifty a second. */
export const MAX_WAITING = 50;

/** The pause after a page that left no room. The task runs each second, so the pause is shorter. */
const REST_MS = 500;

/**
 * Makes the task that sends again what receivers never got, as admins asked for it: a page of each resend that is due, in turns, as long as
 * any is due. Several processes may do so at once. Where a page fails, its resend is taken again when its lease ends; the others go on.
 *
 * A run resolves with the number of deliveries; `signal` ends it after the statement under way.
 */
export function createResend(parts: Parts, { leaseMs }: ResendOptions): (signal: AbortSignal) => Promise<number> {
  const { queries, clock, metrics, log, handOver } = parts;
  const inPages = shrinkingPages({ max: PAGE_SIZE });
  return async (signal) => {
    let total = 0;
    while (!signal.aborted) {
      const now = clock.now();
      const taken = await takeResend(queries, { now, leasedUntil: new Date(now.getTime() + leaseMs) });
      if (taken === null) break;
      const { id: resendId, endpointId, organizationId } = taken;
      try {
        const { state, deliveryCount, owner } = await inPages((pageSize) =>
          makeResendPage(queries, taken, { pageSize, maxWaiting: MAX_WAITING, now: clock.now(), restMs: REST_MS }),
        );
        if (deliveryCount > 0) {
          handOver({ stored: true, deliveries: [], work: [{ endpointId, organizationId, owner }] });
        }
        metrics.resent.inc(deliveryCount);
        if (state !== null && state !== "running") log.info(`a resend is ${state}`, { resendId, endpointId });
        total += deliveryCount;
      } catch (error) {
        stepFailed(parts, "resend", "a resend failed; it is tried again", { endpointId, error });
      }
    }
    return total;
  };
}
