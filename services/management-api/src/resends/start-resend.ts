import type { Author } from "@herald/common/database/endpoint-change";
import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import { toUtc } from "@herald/common/history/summary";
import type { Clock } from "@herald/common/runtime/clock";
import type { Resend, ResendPreview } from "@herald/contracts";
import { periodOf } from "../deliveries/period.ts";
import { type EndpointKey, findEndpoint } from "../endpoints/find-endpoint.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { insertResend } from "../sql/insert-resend.ts";
import { type PreviewRow, previewResend } from "../sql/preview-resend.ts";
import { stopResend } from "../sql/stop-resend.ts";
import { periodFault } from "../validation/query.ts";
import { readResend } from "./resends.ts";

/** What is sent again, in the words of the history. */
export interface ResendFilter {
  eventType?: string[];
  statusCode?: number[];
  from?: string;
  to?: string;
}

interface ReadParts {
  prisma: PrismaClient;
  /** Bounded in time. */
  queries: Reads;
  clock: Clock;
  windowDays: number;
}

/** Some hundred milliseconds of PostgreSQL's time. */
const MAX_SCANNED = 50_000;
/** The contract says it too. As many are sent in some minutes, and counted in some milliseconds. */
export const MAX_RESENT = 10_000;

/** @throws ProblemError `webhook_not_found` */
export async function readResendPreview(
  parts: ReadParts,
  key: EndpointKey,
  filter: ResendFilter,
): Promise<ResendPreview> {
  const { count, bytes, oldestAt, newestAt, lookedBackTo } = await look(parts, key, filter, parts.clock.now());
  if (count === 0) await findEndpoint(parts.prisma, key);
  return {
    deliveries: count,
    bytes: Number(bytes),
    oldestAtUtc: oldestAt && toUtc(oldestAt),
    newestAtUtc: newestAt && toUtc(newestAt),
    lookedBackToUtc: lookedBackTo && toUtc(lookedBackTo),
  };
}

/**
 * Starts to send again what the receiver never got. The publisher makes the deliveries, a few at a time.
 *
 * @throws ProblemError `invalid_request`, `webhook_not_found`, `endpoint_disabled`, `nothing_to_resend` or `resend_running`
 */
export async function startResend(
  parts: ReadParts & { newId: () => string },
  key: EndpointKey,
  filter: ResendFilter,
  { subject, name }: Author,
): Promise<Resend> {
  const [fault] = periodFault(filter);
  if (fault) {
    const { parameter, ...problem } = fault;
    throw new ProblemError("invalid_request", { detail: problem.detail, errors: [{ ...problem, pointer: `/${parameter}` }] });
  }
  const { prisma, clock, newId, windowDays } = parts;
  const { enabled } = await findEndpoint(prisma, key);
  if (!enabled) throw new ProblemError("endpoint_disabled");
  const id = newId();
  const now = clock.now();
  const { count: total, bytes, beginId, endId } = await look(parts, key, filter, now);
  if (beginId === null || endId === null) throw new ProblemError("nothing_to_resend");
  const { from, to } = periodOf(filter, windowDays);
  const stored = await insertResend(prisma, {
    id,
    endpointId: key.id,
    organizationId: key.organizationId,
    now,
    subject,
    name,
    eventTypes: filter.eventType ?? [],
    statusCodes: filter.statusCode ?? [],
    from,
    to,
    beginId,
    endId,
    total,
    bytes,
  });
  if (stored === "no endpoint") throw new ProblemError("webhook_not_found");
  if (stored === "disabled") throw new ProblemError("endpoint_disabled");
  if (stored === "one runs") throw new ProblemError("resend_running");
  return await readResend(parts, key, id);
}

/**
 * Stops a resend. What it has sent so far goes on: these are deliveries like others.
 *
 * @throws ProblemError `webhook_not_found` or `resend_not_found`
 */
export async function endResend(
  { prisma, queries, clock }: { prisma: PrismaClient; queries: Queries; clock: Clock },
  key: EndpointKey,
  id: string,
  { subject, name }: Author,
): Promise<Resend> {
  const { id: endpointId, organizationId } = key;
  await stopResend(queries, { id, endpointId, organizationId, stoppedBy: name ?? subject, now: clock.now() });
  return await readResend({ prisma, queries }, key, id);
}

function look(
  { queries, windowDays }: ReadParts,
  { id: endpointId, organizationId }: EndpointKey,
  filter: ResendFilter,
  now: Date,
): Promise<PreviewRow> {
  return previewResend(queries, {
    organizationId,
    endpointId,
    now,
    eventTypes: filter.eventType ?? [],
    statusCodes: filter.statusCode ?? [],
    ...periodOf(filter, windowDays),
    maxScanned: MAX_SCANNED,
    maxTaken: MAX_RESENT,
  });
}
