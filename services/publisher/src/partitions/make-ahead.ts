import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { PublisherMetrics } from "../metrics.ts";
import { makePartitions, readPartitions } from "../sql/partitions.ts";
import { daysToMake } from "./days.ts";
import { retryLocked } from "./retry-locked.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  metrics: Pick<PublisherMetrics, "taskFailures">;
  log: Log;
}

/**
 * Makes the partitions that are missing, a day at a time, so that no lock is held for long. A day that can't be made now, for
 * example since a backup reads the tables, delays no other day: rows of that day wait in `*_rest` until a later pass makes it.
 *
 * @throws where PostgreSQL can't be asked which there are
 */
export async function makeAhead(
  { queries, clock, metrics, log }: Parts,
  { windowMs }: { windowMs: number },
  signal: AbortSignal,
): Promise<void> {
  const { days, serverNow } = await readPartitions(queries);
  const missing = daysToMake({ now: clock.now(), serverNow, windowMs }).filter((day) => !days.includes(day));
  const failed: string[] = [];
  let error: unknown;
  for (const day of missing) {
    if (signal.aborted) return;
    try {
      await retryLocked(() => makePartitions(queries, day), signal);
    } catch (reason) {
      failed.push(day);
      error = reason;
    }
  }
  if (failed.length === 0) return;
  metrics.taskFailures.inc({ task: "partitions" });
  log.warn("partitions can't be made now; the next pass tries again", { days: failed, error });
}
