import { timeOf } from "@herald/common/database/ids";
import { failedAttempts } from "@herald/common/history/sql/failed-attempts";
import { toDeliverySummary, toUtc } from "@herald/common/history/summary";
import type { EndpointDetails, EndpointOverview, HourOfDeliveries } from "@herald/contracts";
import type { Parts } from "../parts.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { type EndpointKey, missedEvents } from "../sql/endpoint-details.ts";
import { endpointOverviews, type HourRow, type OverviewRow } from "../sql/endpoint-overviews.ts";
import { toEndpointSummary } from "./find-endpoint.ts";

const HOURS = 24;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How many deliveries one answer reads for its hours, and how far it counts, however much is stored. */
export const ofAll = { maxDeliveries: 2_000, maxCount: 100 };
export const ofOne = { maxDeliveries: 2_000, maxCount: 10_000 };
/** How many of the organization's newest events are searched for those that an endpoint missed. */
export const MAX_EVENTS = 2_000;

export async function listOverviews({ reads, clock }: Parts, organizationId: string): Promise<EndpointOverview[]> {
  const hours = lastHours(clock.now());
  const rows = await endpointOverviews(reads, { organizationId, endpointId: null, hours, ...ofAll });
  return rows.map((row) => toOverview(row, hours));
}

/** @throws ProblemError `webhook_not_found` */
export async function readDetails(parts: Parts, { id, organizationId }: EndpointKey): Promise<EndpointDetails> {
  const { reads, clock } = parts;
  const hours = lastHours(clock.now());
  const [row] = await endpointOverviews(reads, { organizationId, endpointId: id, hours, ...ofOne });
  if (row === undefined) throw new ProblemError("webhook_not_found");
  const failures = await failedAttempts(reads, row.failureRun);
  return {
    ...toOverview(row, hours),
    failureRun: row.failureRun
      .flatMap((name) => failures.get(name) ?? [])
      .map(({ attemptedAt, ...attempt }) => ({ ...attempt, attemptedAtUtc: toUtc(attemptedAt) })),
    onResume: row.enabled ? null : await whatResumingSends(parts, row, organizationId),
  };
}

async function whatResumingSends(
  { config, reads, clock }: Parts,
  { id, events, createdAt, unfinished }: OverviewRow,
  organizationId: string,
): Promise<EndpointDetails["onResume"]> {
  const windowStart = new Date(clock.now().getTime() - config.PUBLICATION_WINDOW_DAYS * DAY_MS);
  const since = createdAt > windowStart ? createdAt : windowStart;
  const key = { id, organizationId };
  const { missed, isMinimum } = await missedEvents(reads, key, { events, since, maxEvents: MAX_EVENTS });
  return { parked: unfinished.parked, missedEvents: missed, missedEventsIsMinimum: isMinimum };
}

function toOverview(row: OverviewRow, hours: Date[]): EndpointOverview {
  const { deliveries: _deliveries, ...summary } = toEndpointSummary(row, []);
  return {
    ...summary,
    headerNames: row.headerNames,
    disabledReason: row.disabledReason,
    disabledAtUtc: toUtc(row.disabledAt),
    disabledBy: row.disabledBy,
    nextTryAtUtc: toUtc(row.nextTryAt),
    outageSinceUtc: toUtc(row.outageSince),
    stoppedSinceUtc: toUtc(row.stoppedSince),
    quarantinedAtUtc: toUtc(row.quarantinedAt),
    createdAtUtc: toUtc(row.createdAt),
    updatedAtUtc: toUtc(row.updatedAt),
    unfinished: row.unfinished,
    lastDelivery: row.lastDelivery && toDeliverySummary(row.lastDelivery),
    last24Hours: everyHour(row.hours, hours),
    countedSinceUtc: toUtc(row.oldestCounted === null ? (hours[0] ?? new Date(0)) : timeOf(row.oldestCounted)),
  };
}

/** When each of the 24 hours begins; the last one is the hour of `now`. */
function lastHours(now: Date): Date[] {
  const current = Math.floor(now.getTime() / HOUR_MS);
  return Array.from({ length: HOURS }, (_, index) => new Date((current - (HOURS - 1) + index) * HOUR_MS));
}

const NONE: HourRow = {
  ...{ hour: 0, succeeded: 0, retriedSucceeded: 0 },
  ...{ waiting: 0, failing: 0, parked: 0, parkedFailing: 0, exhausted: 0 },
};

function everyHour(rows: HourRow[], hours: Date[]): HourOfDeliveries[] {
  const byHour = new Map(rows.map((row) => [row.hour, row]));
  return hours.map((start, hour) => {
    const { hour: _, ...counts } = byHour.get(hour) ?? NONE;
    return { startUtc: toUtc(start), ...counts };
  });
}
