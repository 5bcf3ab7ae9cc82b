import type { Queries } from "@herald/common/database/queries";
import type { StatementFailures } from "@herald/common/database/statement-failures";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { DispatcherMetrics } from "./metrics.ts";

/** The parts that most of a dispatcher uses. */
export interface Basics {
  queries: Queries;
  createProgress: StatementFailures["createProgress"];
  clock: Clock;
  metrics: DispatcherMetrics;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}
