import { NotSentError, type Publisher } from "@herald/common/broker/broker";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { PublisherMetrics } from "../metrics.ts";
import { deleteNotices, returnNotices, type TakenNotice, takeNotices } from "../sql/take-notices.ts";
import { noticeOf } from "./notice-of.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  publisher: Publisher;
  /** The notices' exchange. */
  exchange: string;
  metrics: Pick<PublisherMetrics, "notices">;
  log: Log;
}

/** Notices that one process publishes at a time. */
const PAGE_SIZE = 100;

/** Longer than publishing may take: another process takes a notice over only where this one died. */
const LEASE_MS = 60_000;

/**
 * Publishes the notices that settlements left in the database, until there is none. A notice is deleted when the broker
 * has confirmed it, so that a crash anywhere costs no notice: at the worst one comes twice, with the same id.
 *
 * A product that has bound no queue for a notice doesn't want it. That is counted, and no failure: kept, these notices
 * would pile up for ever, and flood a queue that is bound a year later.
 */
export async function publishNotices(parts: Parts, isStopping: () => boolean = () => false): Promise<void> {
  const { queries, clock, log } = parts;
  while (!isStopping()) {
    const now = clock.now();
    const leasedUntil = new Date(now.getTime() + LEASE_MS);
    const taken = await takeNotices(queries, { now, leasedUntil, limit: PAGE_SIZE });
    if (taken.length === 0) return;
    const failures = await publishAll(parts, taken);
    const done = taken.filter(({ id }) => !failures.has(id)).map(({ id }) => id);
    await deleteNotices(queries, done);
    if (failures.size > 0) {
      const [error] = failures.values();
      log.warn("notices were not published; they are tried again", { notices: failures.size, error });
      await returnNotices(queries, [...failures.keys()], clock.now());
      return;
    }
  }
}

/** Returns what the broker did not take, by id. */
async function publishAll(
  { publisher, exchange, metrics }: Parts,
  taken: readonly TakenNotice[],
): Promise<Map<string, unknown>> {
  const failures = new Map<string, unknown>();
  await Promise.all(
    taken.map(async (notice) => {
      const { id, type } = notice;
      const content = Buffer.from(JSON.stringify(noticeOf(notice)));
      try {
        await publisher.publish({ exchange, routingKey: type, content });
        metrics.notices.inc({ type, result: "published" });
      } catch (error) {
        if (error instanceof NotSentError && error.reason === "unroutable") {
          metrics.notices.inc({ type, result: "unrouted" });
        } else {
          metrics.notices.inc({ type, result: "failed" });
          failures.set(id, error);
        }
      }
    }),
  );
  return failures;
}
