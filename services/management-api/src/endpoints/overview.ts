import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { EndpointDetails, EndpointOverview, EventType, HourOfDeliveries } from "@herald/contracts";
import { toDeliverySummary, toUtc } from "../deliveries/summary.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { failedAttempts, missedEvents } from "../sql/endpoint-details.ts";
import { endpointOverviews, type HourRow, type OverviewRow } from "../sql/endpoint-overviews.ts";
import type { EndpointKey } from "./find-endpoint.ts";
import { toEndpointSummary } from "./summary.ts";

export interface OverviewParts {
  queries: Queries;
  clock: Clock;
  /** How many days back a resumed endpoint is caught up. */
  windowDays: number;
}

const HOURS = 24;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** One answer reads so many deliveries for its hours, and counts so far, however much is stored. */
const bounds = { maxDeliveries: 10_000, maxCount: 10_000 };

/** The state of each of an organization's endpoints, in the order of their names. */
export async function listOverviews(
  { queries, clock }: OverviewParts,
  organizationId: string,
): Promise<EndpointOverview[]> {
  const since = firstHour(clock.now());
  const rows = await endpointOverviews(queries, { organizationId, endpointId: null, since, ...bounds });
  return rows.map((row) => toOverview(row, since));
}

/** @throws ProblemError `webhook_not_found` */
export async function readDetails(
  { queries, clock, windowDays }: OverviewParts,
  { id, organizationId }: EndpointKey,
): Promise<EndpointDetails> {
  const now = clock.now();
  const since = firstHour(now);
  const [row] = await endpointOverviews(queries, { organizationId, endpointId: id, since, ...bounds });
  if (row === undefined) throw new ProblemError("webhook_not_found");
  const failures = await failedAttempts(queries, row.failureRun);
  const windowStart = new Date(now.getTime() - windowDays * DAY_MS);
  const { missed, isMinimum } = row.enabled
    ? { missed: 0, isMinimum: false }
    : await missedEvents(queries, { endpointId: id, windowStart, maxEvents: bounds.maxCount });
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

/** When the first of the 24 hours begins; the last one is the hour of `now`. */
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
