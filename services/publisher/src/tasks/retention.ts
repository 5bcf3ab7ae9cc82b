import { shrinkingPages } from "@herald/common/database/shrinking";
import type { Basics } from "../basics.ts";
import { eraseEndpointPage, takeErasure } from "../sql/erase-endpoint.ts";
import { type DueCursor, type ExpiredPage, eraseRows, expireDue } from "../sql/erase-old.ts";
import { dropPartitions, readPartitions } from "../sql/partitions.ts";
import { type Keeping, retryLocked, startOf } from "./partitions.ts";
import { byTurns, resting, stepFailed, type TurnOptions } from "./task.ts";

/** Rates are shown for 30 days, the current hour included. */
const MAX_RATES_MS = 31 * 24 * 60 * 60_000;

export type Erased = Record<"partition" | "change" | "resend" | "undelivered" | "rate", number>;

/**
 * Ends and erases what is too old. Unfinished deliveries expire, with a notice. Partitions are dropped when the last of their days is too old; until
 * then expired deliveries can be looked at. Several processes may do this at once.
 *
 * A step that fails is logged and counted, and delays no other one, but no partition is dropped before its unfinished deliveries have expired.
 */
export async function eraseOld(
  parts: Basics,
  { keepMs, windowMs, pageSize: max }: Keeping & { pageSize: number },
  signal: AbortSignal,
): Promise<Erased & { expired: number }> {
  const { queries, clock, metrics, log } = parts;
  const ago = (ms: number) => new Date(clock.now().getTime() - ms);
  const [endedBefore, cameBefore, ratesBefore] = [ago(keepMs), ago(windowMs), ago(Math.min(keepMs, MAX_RATES_MS))];
  const erased: Erased = { partition: 0, change: 0, resend: 0, undelivered: 0, rate: 0 };
  let expired = 0;
  let failures = 0;

  const outsideHistory = [
    ["change", "endpoint_change", endedBefore, "old changes of endpoints"],
    ["undelivered", "undelivered_event", cameBefore, "what is known of old undelivered events"],
    ["rate", "endpoint_hour", ratesBefore, "old rates of endpoints"],
    // Before unfinished deliveries expire: a resend makes deliveries of its own time.
    ["resend", "resend", endedBefore, "old resends"],
  ] as const;
  for (const [kind, table, before, what] of outsideHistory) {
    await step(`${what} can't be erased; the next pass tries again`, {}, () => eraseOldest(kind, table, before));
  }
  await step("what is unfinished and too old can't be ended; the next pass tries again", {}, async () => {
    await expireAll();
    await dropOld();
  });

  const done = { ...erased, expired };
  if (Object.values(done).some((many) => many > 0)) log.info("ended and erased what was too old", done);
  if (failures === 0 && !signal.aborted) metrics.retentionPassed.set(clock.now().getTime() / 1_000);
  return done;

  /** Goes through all unfinished deliveries, which are few beside the history. */
  async function expireAll(): Promise<void> {
    const inPages = shrinkingPages({ max });
    let after: DueCursor | null = null;
    do {
      const from: DueCursor | null = after;
      const nextPage = () => inPages((pageSize) => expireDue(queries, { after: from, endedBefore, pageSize }));
      const page: ExpiredPage = await resting(nextPage, signal);
      expired += page.expiredCount;
      metrics.expired.inc(page.expiredCount);
      after = page.last;
    } while (after !== null && !signal.aborted);
  }

  async function dropOld(): Promise<void> {
    for (const { first, end } of await readPartitions(queries)) {
      if (startOf(end) > endedBefore) continue;
      await step("an old partition can't be dropped; the next pass tries again", { days: [first] }, async () => {
        if (await retryLocked(() => dropPartitions(queries, { first }), signal)) count("partition", 1);
      });
    }
  }

  async function eraseOldest(
    kind: Exclude<keyof Erased, "partition">,
    table: Parameters<typeof eraseRows>[1],
    before: Date,
  ): Promise<void> {
    const inPages = shrinkingPages({ max });
    let many: number;
    do {
      many = await resting(() => inPages((pageSize) => eraseRows(queries, table, { before, pageSize })), signal);
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

/** An erasure looks twice: at once, and when every fan-out that still knew the deleted endpoint is over. */
export function createErasure(parts: Basics, options: TurnOptions) {
  const { queries, metrics } = parts;
  return byTurns(
    parts,
    {
      task: "erasure",
      table: "erasure",
      done: "erased deliveries of a deleted endpoint",
      failure: "a deleted endpoint's history can't be erased; it is tried again",
      take: (lease) => takeErasure(queries, lease),
      async page(erasure, bounds, signal) {
        const page = await resting(() => eraseEndpointPage(queries, erasure, bounds), signal);
        metrics.erasedOfDeleted.inc(page.deliveryCount);
        return page;
      },
    },
    options,
  );
}
