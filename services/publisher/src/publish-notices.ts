import { NotSentError, type Publisher } from "@herald/common/broker/broker";
import type { Notice, NoticeType } from "@herald/contracts";
import { deleteNotices, returnNotices, type TakenNotice, takeNotices } from "./sql/take-notices.ts";
import type { TaskParts } from "./task.ts";

interface Parts extends TaskParts {
  publisher: Publisher;
  /** The notices' exchange. */
  exchange: string;
}

/** Notices that one process publishes at a time. */
const PAGE_SIZE = 100;

/** Longer than publishing may take: another process takes a notice over only after this process has died. */
const LEASE_MS = 60_000;

/**
 * Publishes the notices that settlements left in the database, until there is none. A notice is deleted when the broker
 * has confirmed it, so that a crash loses no notice. At worst a notice arrives twice, with the same id.
 *
 * A product that has bound no queue for a notice does not want it. Such a notice is counted and deleted. It is no failure:
 * kept, these notices would pile up, and flood a queue that is bound a year later.
 */
export async function publishNotices(parts: Parts, signal: AbortSignal): Promise<void> {
  const { queries, clock, log } = parts;
  while (!signal.aborted) {
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

/** Returns the errors of the notices that the broker did not take, by id. */
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

/** The message that the product gets. */
export function noticeOf(taken: TakenNotice): Notice {
  const { id, type, occurredAt, organizationId, endpointId, endpointName, endpointUrl, failureCount, attempts } = taken;
  return {
    id,
    type,
    occurredAtUtc: occurredAt.toISOString(),
    organizationId,
    endpoint: { id: endpointId, name: endpointName, url: endpointUrl },
    reason: reasonOf(type, failureCount, attempts.at(-1)?.errorSummary ?? null),
    consecutiveFailures: failureCount,
    attempts,
  };
}

function reasonOf(type: NoticeType, failureCount: number, latestError: string | null): string {
  const failed = failureCount === 1 ? "An attempt failed" : `${failureCount} attempts in a row failed`;
  const latest = latestError === null ? "" : ` (the latest: ${latestError})`;
  const consequence =
    type === "endpoint.disabled" ? ", so the endpoint is disabled: nothing is sent until an admin resumes it" : "";
  return `${failed}${latest}${consequence}.`;
}
