import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { PublisherMetrics } from "./metrics.ts";
import { groupRejections, hourly, keyOf, type RejectedGroup, type Rejection } from "./rejections.ts";
import { insertRejections, insertUndelivered } from "./sql/insert-undelivered.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: Pick<PublisherMetrics, "unkept">;
  log: Log;
}

/** Events of one organization, type and reason that come within this time are one notice. A bad event is acknowledged after it. */
const BATCHES = { maxItems: 500, maxRunning: 1, gather: { items: 500, forMs: 200 } };

/**
 * How many notices of rejections with a name one publisher leaves in a second. A message that breaks the contract may name any
 * organization, so a flood of bad events could otherwise be a flood of notices.
 */
const MAX_NAMED = 20;

/**
 * Says that an event is not taken: writes it down for searches, and leaves a notice in the outbox. It resolves when PostgreSQL has both, and
 * the event is acknowledged after that: after a crash in between, the event comes again and may have a second notice.
 *
 * Each event that broke the contract has its part in a notice. Of what is of no known type, or too old, the hour's first of an
 * organization and type has one, and a line in the log; and what is beyond the hour's rows costs nothing.
 *
 * @returns a function that rejects where PostgreSQL can't be used now
 */
export function createReportUndelivered({ queries, clock, metrics, log }: Parts): (event: Rejection) => Promise<void> {
  const hour = hourly();
  let second = 0;
  /** The notices that were left in the second. */
  let left = 0;

  /** Groups of rejections, of which no more have a name than the second of `now` has places. */
  function grouped(events: readonly Rejection[], now: Date): RejectedGroup[] {
    const current = Math.floor(now.getTime() / 1_000);
    if (current !== second) left = 0;
    second = current;
    const groups = groupRejections(events, MAX_NAMED - left);
    left += groups.length;
    return groups;
  }

  const isTold = (event: Rejection, now: Date) => tellsOfEach(event) || hour.mayTell(event, now);

  async function keep(events: readonly Rejection[], now: Date): Promise<void> {
    const kept = events.filter((event) => {
      const mayKeep = hour.mayKeep(event, now);
      if (mayKeep) hour.hasKept(event);
      return mayKeep;
    });
    try {
      if (kept.length > 0) await insertUndelivered(queries, kept, now);
    } catch (error) {
      for (const event of kept) hour.hasKept(event, -1);
      throw error;
    }
    metrics.unkept.inc(events.length - kept.length);
  }

  async function tell(events: readonly Rejection[], now: Date): Promise<void> {
    const told = events.filter((event) => isTold(event, now));
    if (told.length === 0) return;
    await insertRejections(queries, grouped(told, now), now);
    const firsts = new Map(told.filter((event) => !tellsOfEach(event)).map((event) => [keyOf(event), event]));
    for (const first of firsts.values()) {
      hour.hasTold(first);
      log.warn("events are not delivered; the search and a notice say so too", { ...first });
    }
  }

  const store = batcher<Rejection, void>(async (events) => {
    const now = clock.now();
    for (const say of [tell, keep]) {
      try {
        await say(events, now);
      } catch (error) {
        if (!isDataError(error)) throw error;
        // It must not hold up the inbox for want of a word.
        log.error("it can't be stored that events are not delivered, and is left out", { error });
      }
    }
    return events.map(() => undefined);
  }, BATCHES);

  return async (event) => {
    const now = clock.now();
    if (isTold(event, now) || hour.mayKeep(event, now)) return await store(event);
    metrics.unkept.inc();
  };
}

/** An event that broke the contract is set aside, and somebody has to look at each. */
function tellsOfEach({ cause }: Rejection): boolean {
  return cause === "rejected" || cause === "in_future";
}
