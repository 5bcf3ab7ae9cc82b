import { toUtc } from "@herald/common/history/summary";
import type { ResendPreview, StartResendRequest } from "@herald/contracts";
import type { HistoryParts } from "../deliveries/history.ts";
import { periodOf } from "../deliveries/sought.ts";
import { type EndpointKey, findEndpoint } from "../endpoints/find-endpoint.ts";
import { type PreviewRow, previewResend } from "../sql/preview-resend.ts";

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
