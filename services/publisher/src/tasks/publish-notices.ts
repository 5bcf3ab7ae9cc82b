import { NotSentError, type Publisher } from "@herald/common/broker/broker";
import type { Notice } from "@herald/contracts";
import type { Basics } from "../basics.ts";
import {
  deleteNotices,
  type GivenUp,
  makeDigests,
  returnNotices,
  type TakenNotice,
  takeNotices,
} from "../sql/notices.ts";

type Parts = Basics & { publisher: Publisher; exchange: string };

/** Notices that one process publishes at a time. */
const PAGE_SIZE = 100;

/** The lease of a taken notice: longer than publishing may take, so that another process takes it only after this one has died. */
const LEASE_MS = 60_000;

/**
 * An endpoint has at most one notice of given-up deliveries in this time: the first one comes at once, later ones together. Else an endpoint that
 * stays disabled for longer than everything is kept would get notices all day.
 */
const DIGEST_PERIOD_MS: Record<GivenUp, number> = { exhausted: 60 * 60_000, expired: 24 * 60 * 60_000 };

/**
 * Publishes the notices that other statements left in the database, until there is none; first it makes those of given-up deliveries. A notice is
 * deleted when the broker has confirmed it, so that a crash loses no notice. At worst a notice arrives twice, with the same id.
 *
 * If no queue is bound for a notice, the product does not want it: it is counted and deleted, and this is no failure. If it were kept, such notices
 * would pile up, and flood a queue that is bound a year later.
 */
export async function publishNotices(parts: Parts, signal: AbortSignal): Promise<void> {
  const { queries, clock, log } = parts;
  for (const state of ["exhausted", "expired"] as const) await makeAllDigests(parts, state, signal);
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

async function makeAllDigests({ queries, clock }: Parts, state: GivenUp, signal: AbortSignal): Promise<void> {
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
  taken: readonly TakenNotice[],
): Promise<Map<string, unknown>> {
  const failures = new Map<string, unknown>();
  await Promise.all(
    taken.map(async (each) => {
      const { id, type } = each;
      const content = Buffer.from(JSON.stringify(noticeOf(each)));
      try {
        await publisher.publish({ exchange, routingKey: type, content });
        metrics.notices.inc({ type, result: "published" });
      } catch (error) {
        const isUnrouted = error instanceof NotSentError && error.reason === "unroutable";
        metrics.notices.inc({ type, result: isUnrouted ? "unrouted" : "failed" });
        if (!isUnrouted) failures.set(id, error);
      }
    }),
  );
  return failures;
}

function noticeOf(taken: TakenNotice): Notice {
  const { id, type, occurredAt, organizationId, endpointId, endpointName, endpointUrl, details } = taken;
  const { failureCount, attempts } = taken;
  const isOfRun = type === "endpoint.failing" || type === "endpoint.disabled" || type === "endpoint.recovered";
  // The statements that make notices write the details of each type; a test checks every type against the schema.
  return {
    id,
    type,
    occurredAtUtc: occurredAt.toISOString(),
    reason: reasonOf(taken),
    organizationId,
    ...(endpointId !== null && {
      endpoint: { id: endpointId, name: endpointName, origin: new URL(endpointUrl ?? "").origin },
    }),
    ...(isOfRun && { consecutiveFailures: failureCount, attempts }),
    ...details,
  } as Notice;
}

type Details = Partial<{ deliveries: number; author: { changedBy: string; name: string | null }; reason: string }>;

function reasonOf({ type, failureCount, attempts, details }: TakenNotice): string {
  const { deliveries = 0, author, reason = "" } = details as Details;
  const latestError = attempts.at(-1)?.errorSummary ?? null;
  const failed = failureCount === 1 ? "An attempt failed" : `${failureCount} attempts in a row failed`;
  const latest = latestError === null ? "" : ` (the latest: ${latestError})`;
  const by = author?.name ?? (author?.changedBy === "operator" ? "an operator of Herald" : "an admin");
  switch (type) {
    case "endpoint.failing":
      return `${failed}${latest}.`;
    case "endpoint.disabled":
      return `${failed}${latest}, so the endpoint is disabled: nothing is sent until an admin resumes it.`;
    case "endpoint.recovered":
      return `The endpoint works again: a delivery succeeded after ${failureCount} failed attempts in a row.`;
    case "endpoint.exhausted":
      return deliveries === 1
        ? "A delivery was given up, since its last attempt failed too."
        : `${deliveries} deliveries were given up, since their last attempts failed too.`;
    case "endpoint.expired":
      return deliveries === 1
        ? "A delivery was still unfinished when it was too old to be kept, so it was given up."
        : `${deliveries} deliveries were still unfinished when they were too old to be kept, so they were given up.`;
    case "endpoint.resumed":
      return `The endpoint was resumed by ${by}.`;
    case "endpoint.secret_replaced":
      return `The signing secret was replaced by ${by}: attempts that begin later are signed with the new one.`;
    case "endpoint.deleted":
      return `The endpoint was deleted by ${by}, with its history.`;
    case "event.rejected":
      return reason;
  }
}
