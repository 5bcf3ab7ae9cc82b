import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Reads } from "@herald/common/database/queries";
import { toUtc } from "@herald/common/history/summary";
import type { Clock } from "@herald/common/runtime/clock";
import type { ResendPreview } from "@herald/contracts";
import { periodOf } from "../deliveries/period.ts";
import { type EndpointKey, findEndpoint } from "../endpoints/find-endpoint.ts";
import { type PreviewRow, previewResend } from "../sql/preview-resend.ts";

/** What is sent again, in the words of the history. */
export interface ResendFilter {
  eventType?: string[];
  statusCode?: number[];
  from?: string;
  to?: string;
}

export interface PreviewParts {
  prisma: PrismaClient;
  /** Bounded in time. */
  queries: Reads;
  clock: Clock;
  windowDays: number;
}

/** Some hundred milliseconds of PostgreSQL's time. */
const MAX_SCANNED = 50_000;
/** The contract says it too. As many are sent in some minutes, and counted in some milliseconds. */
const MAX_RESENT = 10_000;

/** @throws ProblemError `webhook_not_found` */
export async function readPreview(parts: PreviewParts, key: EndpointKey, filter: ResendFilter): Promise<ResendPreview> {
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
  { queries, windowDays }: PreviewParts,
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
