import { shrinkingPages } from "@herald/common/database/shrinking";
import { endOf } from "./partitions/days.ts";
import { retryLocked } from "./partitions/make-ahead.ts";
import { eraseChanges } from "./sql/erase-changes.ts";
import { eraseResends } from "./sql/erase-resends.ts";
import { type ErasedPage, type ErasePage, eraseRestOfDeliveries, eraseRestOfEvents } from "./sql/erase-rest.ts";
import { dropPartitions, readPartitions } from "./sql/partitions.ts";
import { resting, stepFailed, type TaskParts } from "./task.ts";

export interface RetentionOptions {
  /** How long after its end a day is kept, in milliseconds. */
  keepMs: number;
  /** Rows of the `*_rest` partitions that are read per statement. */
  pageSize: number;
}

/**
 * How much was erased, by kind. Only deliveries and events of the `*_rest` partitions are counted. Changes are those of endpoints'
 * settings; resends are what admins had sent again.
 */
export type Erased = Record<"day" | "delivery" | "event" | "change" | "resend", number>;

/** How many unfinished deliveries of a day may be moved: all other statements wait while they are copied. A day with more of them stays. */
const MAX_UNFINISHED = 2_000;

/**
 * Erases what is too old: drops the partitions of days that are over for long enough, and erases what ended as long ago in the
 * `*_rest` partitions, and the changes and the resends of endpoints of that time. What is unfinished stays. Several processes may do this at once.
 *
 * A day or a page that fails is logged and counted, and delays no other; the next pass tries it again.
 *
 * @throws where PostgreSQL can't be asked which partitions there are
 */
export async function eraseOld(
  parts: TaskParts,
  { keepMs, pageSize: max }: RetentionOptions,
  signal: AbortSignal,
): Promise<Erased> {
  const { queries, clock, metrics, log } = parts;
  const days = await readPartitions(queries);
  const endedBefore = new Date(clock.now().getTime() - keepMs);
  const erased: Erased = { day: 0, delivery: 0, event: 0, change: 0, resend: 0 };
  let failures = 0;

  await dropDays(days.filter((day) => endOf(day) <= endedBefore));
  await step("old deliveries can't be erased; the next pass tries again", {}, () =>
    eraseRest("delivery", eraseRestOfDeliveries),
  );
  await step("old events can't be erased; the next pass tries again", {}, () => eraseRest("event", eraseRestOfEvents));
  await step("old changes of endpoints can't be erased; the next pass tries again", {}, () =>
    eraseOldest("change", (pageSize) => eraseChanges(queries, { changedBefore: endedBefore, pageSize })),
  );
  await step("old resends can't be erased; the next pass tries again", {}, () =>
    eraseOldest("resend", (pageSize) => eraseResends(queries, { startedBefore: endedBefore, pageSize })),
  );

  if (Object.values(erased).some((many) => many > 0)) log.info("erased what was too old", { ...erased });
  if (failures === 0 && !signal.aborted) metrics.retentionPassed.set(clock.now().getTime() / 1_000);
  return erased;

  async function dropDays(old: readonly string[]): Promise<void> {
    const held: string[] = [];
    for (const day of old) {
      await step("an old day can't be dropped; the next pass tries again", { days: [day] }, async () => {
        const drop = () => dropPartitions(queries, { day, maxUnfinished: MAX_UNFINISHED });
        if (await retryLocked(drop, signal)) count("day", 1);
        else held.push(day);
      });
    }
    if (signal.aborted) return;
    metrics.partitionsHeld.set(held.length);
    if (held.length > 0) {
      log.warn("old days are kept, since too many of their deliveries are unfinished", { days: held });
    }
  }

  async function eraseRest<Cursor>(kind: "delivery" | "event", erasePage: ErasePage<Cursor>): Promise<void> {
    const inPages = shrinkingPages({ max });
    let after: Cursor | null = null;
    do {
      const from: { after: Cursor | null; endedBefore: Date } = { after, endedBefore };
      const page: ErasedPage<Cursor> = await resting(
        () => inPages((pageSize) => erasePage(queries, { ...from, pageSize })),
        signal,
      );
      count(kind, page.erasedCount);
      after = page.last;
    } while (after !== null && !signal.aborted);
  }

  /** Erases the changes and the resends, which lie outside the history, the oldest first. */
  async function eraseOldest(kind: "change" | "resend", erase: (pageSize: number) => Promise<number>): Promise<void> {
    const inPages = shrinkingPages({ max });
    let many: number;
    do {
      many = await resting(() => inPages(erase), signal);
      count(kind, many);
    } while (many > 0 && !signal.aborted);
  }

  function count(kind: keyof Erased, more: number): void {
    erased[kind] += more;
    metrics.erased.inc({ kind }, more);
  }

  async function step(failure: string, about: { days?: string[] }, run: () => Promise<void>): Promise<void> {
    if (signal.aborted) return;
    try {
      await run();
    } catch (error) {
      failures++;
      stepFailed(parts, "retention", failure, { ...about, error });
    }
  }
}
