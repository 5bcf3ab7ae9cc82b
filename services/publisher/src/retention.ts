import { firstIdAt } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import { shrinkingPages } from "@herald/common/database/shrinking";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { PublisherMetrics } from "./metrics.ts";
import { endOf } from "./partitions/days.ts";
import { retryLocked } from "./partitions/retry-locked.ts";
import {
  type ErasedDeliveries,
  type ErasedEvents,
  type EventCursor,
  eraseRestOfDeliveries,
  eraseRestOfEvents,
} from "./sql/erase-rest.ts";
import { dropPartitions, readPartitions } from "./sql/partitions.ts";
import { resting } from "./task.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: Pick<PublisherMetrics, "erased" | "retentionPassed" | "partitionsHeld" | "taskFailures">;
  log: Log;
}

export interface RetentionOptions {
  /** How long after its end a day is kept, in milliseconds. */
  keepMs: number;
  /** Rows of the `*_rest` partitions that are read per statement. */
  pageSize: number;
}

export interface Erased {
  days: number;
  /** Out of the `*_rest` partitions. */
  deliveries: number;
  events: number;
}

/** Unfinished deliveries of a day that move at the most: they are copied while everybody waits. A day with more of them stays. */
const MAX_UNFINISHED = 2_000;

/**
 * Erases what is too old: drops the partitions of days that are over for long enough, and erases what ended as long ago in the
 * `*_rest` partitions. What is unfinished stays. Old is what both clocks say is old, this process's and PostgreSQL's: a clock
 * that is wrong must not drop the history. Several processes may do this at once.
 *
 * A day or a page that fails is logged and counted, and delays no other; the next pass tries it again.
 *
 * @throws where PostgreSQL can't be asked which partitions there are
 */
export async function eraseOld(
  { queries, clock, metrics, log }: Parts,
  { keepMs, pageSize }: RetentionOptions,
  signal: AbortSignal,
): Promise<Erased> {
  const { days, serverNow } = await readPartitions(queries);
  const before = new Date(Math.min(clock.now().getTime(), serverNow.getTime()) - keepMs);
  const erased: Erased = { days: 0, deliveries: 0, events: 0 };
  let failures = 0;

  await dropDays(days.filter((day) => endOf(day) <= before));
  await step("old deliveries can't be erased; the next pass tries again", {}, eraseDeliveries);
  await step("old events can't be erased; the next pass tries again", {}, eraseEvents);

  if (erased.days + erased.deliveries + erased.events > 0) log.info("erased what was too old", { ...erased });
  if (failures === 0 && !signal.aborted) metrics.retentionPassed.setToCurrentTime();
  return erased;

  async function dropDays(old: readonly string[]): Promise<void> {
    const held: string[] = [];
    for (const day of old) {
      if (signal.aborted) return;
      await step("an old day can't be dropped; the next pass tries again", { day }, async () => {
        const drop = () => dropPartitions(queries, { day, maxUnfinished: MAX_UNFINISHED });
        if (await retryLocked(drop, signal)) {
          erased.days++;
          metrics.erased.inc({ kind: "day" });
        } else held.push(day);
      });
    }
    metrics.partitionsHeld.set(held.length);
    if (held.length > 0) {
      log.warn("old days are kept, since too many of their deliveries are unfinished", { days: held });
    }
  }

  async function eraseDeliveries(): Promise<void> {
    const inPages = shrinkingPages({ max: pageSize });
    for (let after: string | null = ZERO_UUID; after !== null && !signal.aborted; ) {
      const from: { after: string; before: string; endedBefore: Date } = {
        after,
        before: firstIdAt(before),
        endedBefore: before,
      };
      const page: ErasedDeliveries = await resting(
        () => inPages((size) => eraseRestOfDeliveries(queries, { ...from, pageSize: size })),
        signal,
      );
      erased.deliveries += page.erasedCount;
      metrics.erased.inc({ kind: "delivery" }, page.erasedCount);
      after = page.lastId;
    }
  }

  async function eraseEvents(): Promise<void> {
    const inPages = shrinkingPages({ max: pageSize });
    let after: EventCursor | null = null;
    do {
      const from: { after: EventCursor | null; before: string } = { after, before: firstIdAt(before) };
      const page: ErasedEvents = await resting(
        () => inPages((size) => eraseRestOfEvents(queries, { ...from, pageSize: size })),
        signal,
      );
      erased.events += page.erasedCount;
      metrics.erased.inc({ kind: "event" }, page.erasedCount);
      after = page.cursor;
    } while (after !== null && !signal.aborted);
  }

  async function step(failure: string, about: { day?: string }, run: () => Promise<void>): Promise<void> {
    if (signal.aborted) return;
    try {
      await run();
    } catch (error) {
      failures++;
      metrics.taskFailures.inc({ task: "retention" });
      log.error(failure, { ...about, error });
    }
  }
}

const ZERO_UUID = "00000000-0000-0000-0000-000000000000";
