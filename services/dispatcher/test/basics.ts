import type { Queries } from "@herald/common/database/queries";
import { statementFailures } from "@herald/common/database/statement-failures";
import type { Log } from "@herald/common/telemetry/log";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import type { Basics } from "../src/basics.ts";
import { createMetrics } from "../src/metrics.ts";

export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {}, isDebug: false };

/** The parts that most of a dispatcher uses, with a silent log; without queries, unless the test gives some. */
export function basics(own: Partial<Basics> = {}): Basics {
  const clock = own.clock ?? steeredClock();
  const { createProgress } = statementFailures(clock.monotonicMs);
  const metrics = createMetrics(createRegistry("test"));
  const { signal } = new AbortController();
  return { queries: {} as Queries, createProgress, clock, metrics, log: SILENT, signal, ...own };
}
