import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { groupRejections, type Rejection } from "./rejections.ts";
import { insertRejections } from "./sql/insert-rejections.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  log: Log;
}

/** How long a notice waits to be published, so that notices of one organization, type and reason are published as one. */
const GATHER_MS = 1_000;

/** At most twenty statements a second store notices, however many events are bad. */
const BATCHES = { maxItems: 500, maxRunning: 1, gather: { items: 500, forMs: 50 } };

/**
 * Leaves a notice of a rejected event in the outbox. It resolves when PostgreSQL has it, and the event is acknowledged after that:
 * after a crash in between, the event comes again and has a second notice.
 *
 * @returns a function that rejects where PostgreSQL can't be used now
 */
export function createReportRejections({ queries, clock, log }: Parts): (rejection: Rejection) => Promise<void> {
  let second = 0;
  let reported = new Set<string>();

  /** The groups of rejections that were reported in the second of `now`. */
  function reportedAt(now: Date): Set<string> {
    const current = Math.floor(now.getTime() / 1_000);
    if (current !== second) reported = new Set();
    second = current;
    return reported;
  }

  return batcher<Rejection, void>(async (rejections) => {
    const now = clock.now();
    const publishAt = new Date(now.getTime() + GATHER_MS);
    try {
      await insertRejections(queries, groupRejections(rejections, reportedAt(now)), { now, publishAt });
    } catch (error) {
      if (!isDataError(error)) throw error;
      // The event is kept in the rejected queue in any case. It must not hold up the inbox for want of a notice.
      log.error("a notice of rejected events can't be stored, and is left out", { error });
    }
    return rejections.map(() => undefined);
  }, BATCHES);
}
