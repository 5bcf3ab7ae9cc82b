import { DURATION_BOUNDS_MS } from "@herald/common/history/durations";
import { repeat } from "@herald/common/runtime/repeat";
import type { Basics } from "../basics.ts";
import { type HourOfAttempts, writeRates } from "../sql/endpoint-health.ts";
import type { Settlement } from "../sql/settle.ts";

const HOUR_MS = 3_600_000;

const MAX_HOURS = 2_000;

type Sums = HourOfAttempts & { durations: number[] };
type CountedAttempt = Pick<Settlement, "endpointId" | "startedAt" | "durationMs" | "succeeded">;

export type Rates = ReturnType<typeof startRates>;

/**
 * Counts the outcomes of attempts by endpoint and hour, and writes the sums in intervals. A crash loses the sums since the last interval. A statement
 * whose answer is lost may be counted twice. The history stays exact. No attempt waits for it.
 */
export function startRates({ queries, log }: Basics, { intervalMs }: { intervalMs: number }) {
  /** By the hour's beginning, and then by endpoint. */
  let gathered = new Map<number, Map<string, Sums>>();

  function sumsOf(hourMs: number, endpointId: string): Sums {
    const ofHour = gathered.get(hourMs) ?? new Map<string, Sums>();
    gathered.set(hourMs, ofHour);
    let sums = ofHour.get(endpointId);
    if (sums === undefined) {
      const durations = DURATION_BOUNDS_MS.map(() => 0);
      sums = { endpointId, hour: new Date(hourMs), succeeded: 0, failed: 0, durations };
      ofHour.set(endpointId, sums);
    }
    return sums;
  }

  function putBack(hours: readonly Sums[]): void {
    for (const { hour, endpointId, succeeded, failed, durations } of hours) {
      const sums = sumsOf(hour.getTime(), endpointId);
      sums.succeeded += succeeded;
      sums.failed += failed;
      sums.durations = sums.durations.map((many, bucket) => many + (durations[bucket] ?? 0));
    }
  }

  async function write(): Promise<void> {
    const hours = [...gathered.values()].flatMap((ofHour) => [...ofHour.values()]);
    gathered = new Map();
    while (hours.length > 0) {
      try {
        putBack(await writeRates(queries, hours.slice(0, MAX_HOURS)));
      } catch (error) {
        putBack(hours);
        throw error;
      }
      hours.splice(0, MAX_HOURS);
    }
  }

  const onFailure = (error: unknown) =>
    log.warn("endpoints' rates can't be written; they are kept for later", { error });
  const writing = repeat(write, { intervalMs, onFailure });
  return {
    add({ endpointId, startedAt, durationMs, succeeded }: CountedAttempt): void {
      const ms = startedAt.getTime();
      const sums = sumsOf(ms - (ms % HOUR_MS), endpointId);
      if (succeeded) sums.succeeded++;
      else sums.failed++;
      const bucket = DURATION_BOUNDS_MS.findIndex((bound) => durationMs <= bound);
      const index = bucket < 0 ? DURATION_BOUNDS_MS.length - 1 : bucket;
      sums.durations[index] = (sums.durations[index] ?? 0) + 1;
    },
    async stop(): Promise<void> {
      await writing.stop();
      await write().catch(onFailure);
    },
  };
}
