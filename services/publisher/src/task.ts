import { setTimeout as sleep } from "node:timers/promises";
import { isPartitionMissing, PARTITION_MISSING } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { PublisherMetrics, TASKS } from "./metrics.ts";

/** What the publisher's tasks work with. */
export interface TaskParts {
  queries: Queries;
  clock: Clock;
  metrics: PublisherMetrics;
  log: Log;
}

/** Counts and logs a failure of a step. The task goes on without it, and tries it again later. */
export function stepFailed(
  { metrics, log }: TaskParts,
  task: (typeof TASKS)[number],
  failure: string,
  about: { error: unknown; endpointId?: string; days?: readonly string[] },
): void {
  metrics.taskFailures.inc({ task });
  log.error(isPartitionMissing(about.error) ? `${failure}: ${PARTITION_MISSING}` : failure, about);
}

/** Runs a step, and rests for as long as it took. So a task of many steps uses at most half of one connection. */
export async function resting<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const begun = performance.now();
  const result = await step();
  await sleep(performance.now() - begun, undefined, { signal }).catch(() => undefined);
  return result;
}
