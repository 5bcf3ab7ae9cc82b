import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import type { Author } from "@herald/common/database/update-endpoint";
import { toUtc } from "@herald/common/history/summary";
import type { Clock } from "@herald/common/runtime/clock";
import type { Resend, ResendPage, ResendPreview, ResendQuery, StartResendRequest } from "@herald/contracts";
import { cursorOf, parseCursor, periodOf } from "../deliveries/filter.ts";
import type { HistoryParts } from "../deliveries/history.ts";
import { type EndpointKey, findEndpoint } from "../endpoints/find-endpoint.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { type PreviewRow, previewResend } from "../sql/preview-resend.ts";
import { insertResend, type ResendRow, readResends, stopResend } from "../sql/resends.ts";
import { periodFault } from "../validation/query.ts";

interface Parts {
  prisma: PrismaClient;
  queries: Reads;
}

/** @throws ProblemError `webhook_not_found` */
export async function listResends(
  { prisma, queries }: Parts,
  key: EndpointKey,
  { limit, cursor }: ResendQuery,
): Promise<ResendPage> {
  const { id: endpointId, organizationId } = key;
  const olderThan = cursor === undefined ? null : parseCursor(cursor);
  const rows = await readResends(queries, { organizationId, endpointId, id: null, olderThan, limit });
  if (rows.length === 0) await findEndpoint(prisma, key);
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { resends: rows.map(toResend), nextCursor: last ? cursorOf(last.id) : null };
}

/** @throws ProblemError `webhook_not_found` or `resend_not_found` */
export async function readResend({ prisma, queries }: Parts, key: EndpointKey, id: string): Promise<Resend> {
  const { id: endpointId, organizationId } = key;
  const [row] = await readResends(queries, { organizationId, endpointId, id, olderThan: null, limit: 1 });
  if (row) return toResend(row);
  await findEndpoint(prisma, key);
  throw new ProblemError("resend_not_found");
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

function toResend(row: ResendRow): Resend {
  const { id, state, stopReason, stoppedBy, total, sent, succeeded, failed } = row;
  return {
    id,
    state,
    stopReason,
    startedAtUtc: toUtc(row.startedAt),
    startedBy: row.name ?? row.subject,
    endedAtUtc: row.endedAt && toUtc(row.endedAt),
    stoppedBy,
    filter: {
      eventType: row.eventTypes,
      statusCode: row.statusCodes,
      from: row.fromAt && toUtc(row.fromAt),
      to: row.toAt && toUtc(row.toAt),
    },
    total,
    bytes: Number(row.bytes),
    sent,
    succeeded,
    failed,
    unfinished: sent - succeeded - failed,
  };
}

/** Some hundred milliseconds of PostgreSQL's time. */
const MAX_SCANNED = 50_000;
/** The contract says it too. As many are sent in some minutes, and counted in some milliseconds. */
const MAX_RESENT = 10_000;

/** @throws ProblemError `webhook_not_found` */
export async function readPreview(
  parts: HistoryParts,
  key: EndpointKey,
  filter: StartResendRequest,
): Promise<ResendPreview> {
  const { count, bytes, oldestAt, newestAt, lookedBackTo } = await findNeverGot(parts, key, filter, parts.clock.now());
  if (count === 0) await findEndpoint(parts.prisma, key);
  return {
    deliveries: count,
    bytes: Number(bytes),
    oldestAtUtc: oldestAt && toUtc(oldestAt),
    newestAtUtc: newestAt && toUtc(newestAt),
    lookedBackToUtc: lookedBackTo && toUtc(lookedBackTo),
  };
}

/** Counts the deliveries that the endpoint's receiver has never got. */
export function findNeverGot(
  { queries, windowDays }: HistoryParts,
  { id: endpointId, organizationId }: EndpointKey,
  filter: StartResendRequest,
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

/**
 * Starts to send again what the receiver never got. The publisher makes the deliveries, a few at a time.
 *
 * @throws ProblemError `invalid_request`, `webhook_not_found`, `endpoint_disabled`, `nothing_to_resend` or `resend_running`
 */
export async function startResend(
  parts: HistoryParts & { newId: () => string },
  key: EndpointKey,
  filter: StartResendRequest,
  author: Author,
): Promise<Resend> {
  refusePeriod(filter);
  const { prisma, clock, newId, windowDays } = parts;
  const { enabled } = await findEndpoint(prisma, key);
  if (!enabled) throw new ProblemError("endpoint_disabled");
  const id = newId();
  const now = clock.now();
  const { count: total, bytes, beginId, endId } = await findNeverGot(parts, key, filter, now);
  if (beginId === null || endId === null) throw new ProblemError("nothing_to_resend");
  const { from, to } = periodOf(filter, windowDays);
  const stored = await insertResend(prisma, {
    id,
    endpointId: key.id,
    organizationId: key.organizationId,
    now,
    author,
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

function refusePeriod(filter: StartResendRequest): void {
  const [fault] = periodFault({ ...filter });
  if (fault === undefined) return;
  const { parameter, ...problem } = fault;
  throw new ProblemError("invalid_request", {
    detail: problem.detail,
    errors: [{ pointer: `/${parameter}`, ...problem }],
  });
}
