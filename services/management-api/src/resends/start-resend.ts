import type { Author } from "@herald/common/database/endpoint-change";
import { toUtc } from "@herald/common/history/summary";
import type { Resend, ResendPreview, StartResendRequest } from "@herald/contracts";
import type { HistoryParts } from "../deliveries/history.ts";
import { periodOf } from "../deliveries/sought.ts";
import { type EndpointKey, findEndpoint } from "../endpoints/find-endpoint.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { insertResend } from "../sql/insert-resend.ts";
import { type PreviewRow, previewResend } from "../sql/preview-resend.ts";
import { periodFault } from "../validation/query.ts";
import { readResend } from "./resends.ts";

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

/** What the endpoint's receiver never got by now. */
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
