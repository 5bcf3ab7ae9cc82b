import { type Author, nameOf } from "@herald/common/database/trail";
import { toUtc } from "@herald/common/history/summary";
import type { Resend, ResendPage, ResendPreview, ResendQuery, StartResendRequest } from "@herald/contracts";
import { periodOf } from "../deliveries/filter.ts";
import { findEndpoint } from "../endpoints/find-endpoint.ts";
import type { Parts } from "../parts.ts";
import { ProblemError } from "../problems/problem-error.ts";
import type { EndpointKey } from "../sql/endpoint-details.ts";
import { type PreviewRow, previewResend } from "../sql/preview-resend.ts";
import { insertResend, type ResendRow, readResends, stopResend } from "../sql/resends.ts";
import { cursorOf, olderThanOf } from "../validation/opaque.ts";
import { periodFault } from "../validation/validator.ts";

/** @throws ProblemError `webhook_not_found` */
export async function listResends({ prisma, reads }: Parts, key: EndpointKey, query: ResendQuery): Promise<ResendPage> {
  const { id: endpointId, organizationId } = key;
  const { limit } = query;
  const olderThan = olderThanOf(query);
  const rows = await readResends(reads, { organizationId, endpointId, id: null, olderThan, limit });
  if (rows.length === 0) await findEndpoint(prisma, key);
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { resends: rows.map(toResend), nextCursor: last ? cursorOf(last.id) : null };
}

/** @throws ProblemError `webhook_not_found` or `resend_not_found` */
export async function readResend({ prisma, reads }: Parts, key: EndpointKey, id: string): Promise<Resend> {
  const { id: endpointId, organizationId } = key;
  const [row] = await readResends(reads, { organizationId, endpointId, id, olderThan: null, limit: 1 });
  if (row) return toResend(row);
  await findEndpoint(prisma, key);
  throw new ProblemError("resend_not_found");
}

/** What it has sent so far goes on: these are deliveries like others. @throws ProblemError `webhook_not_found` or `resend_not_found` */
export async function endResend(parts: Parts, key: EndpointKey, id: string, author: Author): Promise<Resend> {
  const { id: endpointId, organizationId } = key;
  const stop = { id, endpointId, organizationId, stoppedBy: nameOf(author), now: parts.clock.now() };
  await stopResend(parts.queries, stop);
  return await readResend(parts, key, id);
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
export async function readPreview(parts: Parts, key: EndpointKey, filter: StartResendRequest): Promise<ResendPreview> {
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

function findNeverGot(
  { config, reads }: Parts,
  { id: endpointId, organizationId }: EndpointKey,
  filter: StartResendRequest,
  now: Date,
): Promise<PreviewRow> {
  return previewResend(reads, {
    organizationId,
    endpointId,
    now,
    eventTypes: filter.eventType ?? [],
    statusCodes: filter.statusCode ?? [],
    ...periodOf(filter, config.PUBLICATION_WINDOW_DAYS),
    maxScanned: MAX_SCANNED,
    maxTaken: MAX_RESENT,
  });
}

/**
 * Starts to send again what the receiver never got. The publisher makes the deliveries, a few at a time.
 * @throws ProblemError `invalid_request`, `webhook_not_found`, `endpoint_disabled`, `nothing_to_resend` or `resend_running`
 */
export async function startResend(
  parts: Parts,
  key: EndpointKey,
  filter: StartResendRequest,
  author: Author,
): Promise<Resend> {
  refusePeriod(filter);
  const { config, prisma, clock, newId } = parts;
  const { enabled } = await findEndpoint(prisma, key);
  if (!enabled) throw new ProblemError("endpoint_disabled");
  const id = newId();
  const now = clock.now();
  const { count: total, bytes, beginId, endId } = await findNeverGot(parts, key, filter, now);
  if (beginId === null || endId === null) throw new ProblemError("nothing_to_resend");
  const { from, to } = periodOf(filter, config.PUBLICATION_WINDOW_DAYS);
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
