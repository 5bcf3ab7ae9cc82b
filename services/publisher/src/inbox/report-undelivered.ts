import { isDataError } from "@herald/common/database/errors";
import { batcher } from "@herald/common/runtime/batcher";
import type { Basics } from "../basics.ts";
import { insertRejections, insertUndelivered } from "../sql/insert-undelivered.ts";
import type { Rejection } from "../sql/rows.ts";
import { hourly } from "./rejections.ts";

const BATCHES = { maxItems: 500, maxRunning: 1, gather: { items: 500, forMs: 200 } };

/**
 * Records that an event is not taken: writes a row for searches, and leaves a notice in the outbox if it is the hour's first of its organization,
 * type and cause. It resolves when PostgreSQL has both, and the event is acknowledged after that: after a crash in between, the event comes
 * again and may have a second notice. Events beyond the hour's bounds cost nothing.
 *
 * @returns a function that rejects if PostgreSQL can't be used now
 */
export function createReportUndelivered({ queries, clock, metrics, log }: Basics): (event: Rejection) => Promise<void> {
  let hour = hourly();

  const store = batcher<Rejection, void>(async (events) => {
    const now = clock.now();
    const kept: Rejection[] = [];
    const firsts: Rejection[] = [];
    for (const event of events) {
      if (!hour.mayKeep(event, now)) continue;
      kept.push(event);
      if (hour.keep(event)) firsts.push(event);
    }
    // A search finds an event by organization and id.
    const found = kept.filter(({ organizationId, eventId }) => organizationId !== null && eventId !== null);
    try {
      if (firsts.length > 0) await insertRejections(queries, firsts, now);
      if (found.length > 0) await insertUndelivered(queries, found, now);
    } catch (error) {
      if (!isDataError(error)) {
        // All of them come again. A row that was written has no second one, and a second notice does no harm.
        hour = hourly();
        throw error;
      }
      // The inbox must not stop because a row can't be written.
      log.error("rows of undelivered events can't be stored, and are left out", { error });
    }
    for (const first of firsts) log.warn("events are not delivered; the search and a notice say so too", { ...first });
    metrics.unkept.inc(events.length - found.length);
    return events.map(() => undefined);
  }, BATCHES);

  return async (event) => {
    if (hour.mayKeep(event, clock.now())) return await store(event);
    metrics.unkept.inc();
  };
}
