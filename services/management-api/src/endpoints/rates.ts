import type { Reads } from "@herald/common/database/queries";
import { percentileMs } from "@herald/common/history/durations";
import { toUtc } from "@herald/common/history/summary";
import type { AttemptsSince, EndpointRates, PeriodRates } from "@herald/contracts";
import { endpointRates, type RateRow } from "../sql/endpoint-rates.ts";
import type { EndpointKey } from "./find-endpoint.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;
const DAYS = 30;
/** All days but the last, which is read by hours. */
const WHOLE_DAYS = DAYS - 1;

/** How an endpoint's attempts fared over 1, 7 and 30 days that end with the hour of `now`. */
export async function readRates(queries: Reads, key: EndpointKey, now: Date): Promise<EndpointRates> {
  const starts = startsOf(now);
  const rows = new Map((await endpointRates(queries, key, starts)).map((row) => [row.piece, row]));
  const points = starts.map((start, piece) => ({ start, ...NOTHING, ...rows.get(piece) }));
  const today = points.slice(WHOLE_DAYS);
  return {
    periods: [1, 7, DAYS].map((days) => ratesOf(days, points.slice(DAYS - days))),
    hours: today.map(pointOf),
    days: [...points.slice(0, WHOLE_DAYS), { ...totalOf(today), start: starts[WHOLE_DAYS] as Date }].map(pointOf),
  };
}

type Sums = Omit<RateRow, "piece">;
const NOTHING: Sums = { succeeded: 0, failed: 0, durations: [] };

/** When the 29 whole days begin, and then the 24 hours of the last one. */
function startsOf(now: Date): Date[] {
  const end = Math.floor(now.getTime() / HOUR_MS) + 1;
  return Array.from({ length: WHOLE_DAYS + HOURS }, (_, piece) => {
    const hoursAgo = piece < WHOLE_DAYS ? (DAYS - piece) * HOURS : WHOLE_DAYS + HOURS - piece;
    return new Date((end - hoursAgo) * HOUR_MS);
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
  const attempts = succeeded + failed;
  const share = attempts === 0 ? null : succeeded / attempts;
  return {
    days,
    attempts,
    succeeded,
    share,
    p50Ms: percentileMs(durations, 0.5),
    p95Ms: percentileMs(durations, 0.95),
  };
}

function pointOf({ start, succeeded, failed }: Sums & { start: Date }): AttemptsSince {
  return { startUtc: toUtc(start), succeeded, failed };
}
