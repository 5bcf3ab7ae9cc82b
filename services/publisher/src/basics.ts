import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { PublisherMetrics } from "./metrics.ts";

/** The parts that most of a publisher uses. */
export interface Basics {
  queries: Queries;
  clock: Clock;
  metrics: PublisherMetrics;
  log: Log;
}
