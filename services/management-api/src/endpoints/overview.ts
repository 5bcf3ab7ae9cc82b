import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Clock } from "@herald/common/runtime/clock";
import type { EndpointDetails, EndpointOverview, EventType, HourOfDeliveries } from "@herald/contracts";
import { toDeliverySummary, toUtc } from "../deliveries/summary.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { endpointOverviews, type HourRow, type OverviewRow } from "../sql/endpoint-overviews.ts";
import { failedAttempts } from "../sql/failed-attempts.ts";
import { missedEvents } from "../sql/missed-events.ts";
import { toEndpointSummary } from "./summary.ts";

export interface OverviewParts {
  prisma: PrismaClient;
  clock: Clock;
  /** How many days back a resumed endpoint is caught up. */
  windowDays: number;
}

const HOURS = 24;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** What one answer looks at, however much there is. */
const MAX_DELIVERIES = 10_000;
const MAX_COUNT = 10_000;

/** How each of an organization's endpoints fares, by name. */
export async function listOverviews(
  { prisma, clock }: OverviewParts,
  organizationId: string,
): Promise<EndpointOverview[]> {
  const since = firstHour(clock.now());
  const rows = await endpointOverviews(prisma, { organizationId, endpointId: null, since, ...bounds });
  return rows.map((row) => toOverview(row, since));
}

/** @throws ProblemError `webhook_not_found` */
export async function readDetails(
  { prisma, clock, windowDays }: OverviewParts,
  { id, organizationId }: { id: string; organizationId: string },
): Promise<EndpointDetails> {
  const now = clock.now();
  const since = firstHour(now);
  const [row] = await endpointOverviews(prisma, { organizationId, endpointId: id, since, ...bounds });
  if (row === undefined) throw new ProblemError("webhook_not_found");
  const failures = await failedAttempts(prisma, row.failureRun);
  const windowStart = new Date(now.getTime() - windowDays * DAY_MS);
  const { missed, isMinimum } = row.enabled
    ? { missed: 0, isMinimum: false }
    : await missedEvents(prisma, { endpointId: id, windowStart, maxEvents: MAX_COUNT });
  return {
    ...toOverview(row, since),
    failureRun: failures.map(({ attemptedAt, eventType, ...attempt }) => ({
      ...attempt,
      eventType: eventType as EventType,
      attemptedAtUtc: toUtc(attemptedAt),
    })),
    onResume: row.enabled ? null : { parked: row.parked, missedEvents: missed, missedEventsIsMinimum: isMinimum },
  };
}

const bounds = { maxDeliveries: MAX_DELIVERIES, maxCount: MAX_COUNT };

function toOverview(row: OverviewRow, since: Date): EndpointOverview {
  const { deliveries: _deliveries, ...summary } = toEndpointSummary(row, []);
  return {
    ...summary,
    disabledReason: row.disabledReason,
    disabledAtUtc: toUtc(row.disabledAt),
    createdAtUtc: toUtc(row.createdAt),
    updatedAtUtc: toUtc(row.updatedAt),
    unfinished: { pending: row.pending, parked: row.parked },
    lastDelivery: row.lastDelivery && toDeliverySummary(row.lastDelivery),
    last24Hours: everyHour(row.hours, since),
  };
}

/** The beginning of the first of the 24 hours, the last of which is the one that `now` is in. */
function firstHour(now: Date): Date {
  return new Date((Math.floor(now.getTime() / HOUR_MS) - (HOURS - 1)) * HOUR_MS);
}

function everyHour(rows: HourRow[], since: Date): HourOfDeliveries[] {
  const byHour = new Map(rows.map((row) => [row.hour, row]));
  return Array.from({ length: HOURS }, (_, hour) => {
    const { succeeded = 0, waiting = 0, failing = 0, exhausted = 0 } = byHour.get(hour) ?? {};
    const startUtc = new Date(since.getTime() + hour * HOUR_MS).toISOString();
    return { startUtc, succeeded, waiting, failing, exhausted };
  });
}
