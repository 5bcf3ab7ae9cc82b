import { isDataError } from "@herald/common/database/errors";
import { batcher } from "@herald/common/runtime/batcher";
import { groupRejections, hourly, keyOf, type RejectedGroup, type Rejection } from "./rejections.ts";
import { insertRejections, insertUndelivered } from "./sql/insert-undelivered.ts";
import type { TaskParts } from "./task.ts";

/** Events of one organization, type and reason that come within this time share a notice. A bad event is acknowledged after that. */
const BATCHES = { maxItems: 500, maxRunning: 1, gather: { items: 500, forMs: 200 } };

/** Named notices of rejections that one publisher makes in a second: a message that breaks the contract may name any organization. */
const MAX_NAMED = 20;

/**
 * Records that an event is not taken: writes a row for searches, and leaves a notice in the outbox. It resolves when PostgreSQL has both, and the
 * event is acknowledged after that: after a crash in between, the event comes again and may have a second notice.
 *
 * Each event that broke the contract is counted in a notice. For events of an unknown type, or too old ones, only the hour's first of an organization
 * and type has a notice and a line in the log; events beyond the hour's rows cost nothing.
 *
 * @returns a function that rejects if PostgreSQL can't be used now
 */
export function createReportUndelivered({
  queries,
  clock,
  metrics,
  log,
}: TaskParts): (event: Rejection) => Promise<void> {
  const hour = hourly();
  let second = 0;
  /** The notices that were made in this second. */
  let left = 0;

  /** Groups rejections; no more groups have a name than the second of `now` has left. */
  function grouped(events: readonly Rejection[], now: Date): RejectedGroup[] {
    const current = Math.floor(now.getTime() / 1_000);
    if (current !== second) left = 0;
    second = current;
    const groups = groupRejections(events, MAX_NAMED - left);
    left += groups.length;
    return groups;
  }

  const needsNotice = (event: Rejection, now: Date) => breaksContract(event) || hour.mayNotify(event, now);

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

  async function notify(events: readonly Rejection[], now: Date): Promise<void> {
    const noticed = events.filter((event) => needsNotice(event, now));
    if (noticed.length === 0) return;
    await insertRejections(queries, grouped(noticed, now), now);
    const firsts = new Map(noticed.filter((event) => !breaksContract(event)).map((event) => [keyOf(event), event]));
    for (const first of firsts.values()) {
      hour.hasNotified(first);
      log.warn("events are not delivered; the search and a notice say so too", { ...first });
    }
  }

  const store = batcher<Rejection, void>(async (events) => {
    const now = clock.now();
    for (const write of [notify, keep]) {
      try {
        await write(events, now);
      } catch (error) {
        if (!isDataError(error)) throw error;
        // The inbox must not stop because a row can't be written.
        log.error("rows of undelivered events can't be stored, and are left out", { error });
      }
    }
    return events.map(() => undefined);
  }, BATCHES);

  return async (event) => {
    const now = clock.now();
    if (needsNotice(event, now) || hour.mayKeep(event, now)) return await store(event);
    metrics.unkept.inc();
  };
}

/** An event that broke the contract is in the rejected queue, where an operator has to look at each. */
function breaksContract({ cause }: Rejection): boolean {
  return cause === "rejected" || cause === "in_future";
}
