import { NotSentError, type Publisher } from "@herald/common/broker/broker";
import { messagesOf, type NoticeMessage } from "./notice-message.ts";
import { type GivenUp, makeDigests } from "./sql/make-digests.ts";
import { deleteNotices, returnNotices, takeNotices } from "./sql/take-notices.ts";
import type { TaskParts } from "./task.ts";

interface Parts extends TaskParts {
  publisher: Publisher;
  /** The notices' exchange. */
  exchange: string;
}

/** Notices that one process publishes at a time. */
const PAGE_SIZE = 100;

/** How long a taken notice is leased: longer than publishing may take, so another process takes it only after this one has died. */
const LEASE_MS = 60_000;

/**
 * An endpoint has at most one notice of deliveries that ended so in this time: the first one is told at once, later ones together. An
 * endpoint that is disabled for longer than everything is kept would be told of all day long.
 */
const DIGEST_PERIOD_MS: Record<GivenUp, number> = { exhausted: 60 * 60_000, expired: 24 * 60 * 60_000 };

/**
 * Publishes the notices that other statements left in the database, until there is none; first it makes those of deliveries that were given up.
 * A notice is deleted when the broker has confirmed it, so that a crash loses no notice. At worst a notice arrives twice, with the same
 * id.
 *
 * A product that has bound no queue for a notice does not want it. Such a notice is counted and deleted. It is no failure:
 * kept, these notices would pile up, and flood a queue that is bound a year later.
 */
export async function publishNotices(parts: Parts, signal: AbortSignal): Promise<void> {
  const { queries, clock, log } = parts;
  await tellGivenUp(parts, "exhausted", signal);
  await tellGivenUp(parts, "expired", signal);
  while (!signal.aborted) {
    const now = clock.now();
    const leasedUntil = new Date(now.getTime() + LEASE_MS);
    const taken = await takeNotices(queries, { now, leasedUntil, limit: PAGE_SIZE });
    if (taken.length === 0) return;
    const failures = await publishAll(parts, messagesOf(taken));
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

async function tellGivenUp({ queries, clock }: Parts, state: GivenUp, signal: AbortSignal): Promise<void> {
  let made = PAGE_SIZE;
  while (made === PAGE_SIZE && !signal.aborted) {
    const now = clock.now();
    const notAfter = new Date(now.getTime() - DIGEST_PERIOD_MS[state]);
    made = await makeDigests(queries, { state, now, notAfter, limit: PAGE_SIZE });
  }
}

/** Returns the errors of the notices that the broker did not take, by id. */
async function publishAll(
  { publisher, exchange, metrics }: Parts,
  messages: readonly NoticeMessage[],
): Promise<Map<string, unknown>> {
  const failures = new Map<string, unknown>();
  await Promise.all(
    messages.map(async ({ notice, ids }) => {
      const { type } = notice;
      const content = Buffer.from(JSON.stringify(notice));
      try {
        await publisher.publish({ exchange, routingKey: type, content });
        metrics.notices.inc({ type, result: "published" });
      } catch (error) {
        if (error instanceof NotSentError && error.reason === "unroutable") {
          metrics.notices.inc({ type, result: "unrouted" });
        } else {
          metrics.notices.inc({ type, result: "failed" });
          for (const id of ids) failures.set(id, error);
        }
      }
    }),
  );
  return failures;
}
