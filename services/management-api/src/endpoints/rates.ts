import { percentileMs } from "@herald/common/history/durations";
import { toUtc } from "@herald/common/history/summary";
import type { AttemptCounts, EndpointRates, PeriodRates } from "@herald/contracts";
import type { Parts } from "../parts.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { type EndpointKey, endpointRates, type RateRow } from "../sql/endpoint-details.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;
const DAYS = 30;
/** All days but the last, which is read by hours. */
const WHOLE_DAYS = DAYS - 1;

/** How an endpoint's attempts fared over 1, 7 and 30 days that end with the present hour. @throws ProblemError `webhook_not_found` */
export async function readRates({ reads, clock }: Parts, key: EndpointKey): Promise<EndpointRates> {
  const endMs = (Math.floor(clock.now().getTime() / HOUR_MS) + 1) * HOUR_MS;
  const starts = startsBefore(endMs);
  const found = await endpointRates(reads, key, starts);
  if (found.length === 0) throw new ProblemError("webhook_not_found");
  const rows = new Map(found.map((row) => [row.piece, row]));
  const points = starts.map((_, piece) => ({ ...NOTHING, ...rows.get(piece) }));
  const today = points.slice(WHOLE_DAYS);
  return {
    endUtc: toUtc(new Date(endMs)),
    periods: [1, 7, DAYS].map((days) => ratesOf(days, points.slice(DAYS - days))),
    hours: today.map(countsOf),
    days: [...points.slice(0, WHOLE_DAYS), totalOf(today)].map(countsOf),
  };
}

type Sums = Omit<RateRow, "piece">;
const NOTHING: Sums = { succeeded: 0, failed: 0, durations: [] };

/** When the 29 whole days begin, and then the 24 hours of the last one. */
function startsBefore(endMs: number): Date[] {
  return Array.from({ length: WHOLE_DAYS + HOURS }, (_, piece) => {
    const hoursAgo = piece < WHOLE_DAYS ? (DAYS - piece) * HOURS : WHOLE_DAYS + HOURS - piece;
    return new Date(endMs - hoursAgo * HOUR_MS);
  });
}

function totalOf(points: readonly Sums[]): Sums {
  const total: Sums = { succeeded: 0, failed: 0, durations: [] };
  for (const { succeeded, failed, durations } of points) {
    total.succeeded += succeeded;
    total.failed += failed;
    for (const [bucket, many] of durations.entries()) total.durations[bucket] = (total.durations[bucket] ?? 0) + many;
  }
  return total;
}

function ratesOf(days: number, points: readonly Sums[]): PeriodRates {
  const { succeeded, failed, durations } = totalOf(points);
  const [p50Ms, p95Ms] = [percentileMs(durations, 0.5), percentileMs(durations, 0.95)];
  return { days, attempts: succeeded + failed, succeeded, p50Ms, p95Ms };
}

const countsOf = ({ succeeded, failed }: Sums): AttemptCounts => ({ succeeded, failed });
