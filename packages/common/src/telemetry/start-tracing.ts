import type { Tracing, TracingOptions } from "./tracing.ts";

/**
 * Starts tracing where a collector is configured. OpenTelemetry is loaded only then: else it costs nothing.
 *
 * Spans are handed on as `traceparent` texts and not by a context that follows the calls: between the parts lie queues,
 * batches and the database, where none would follow.
 */
export async function startTracing(options: TracingOptions): Promise<Tracing | undefined> {
  if (!options.endpoint) return undefined;
  const { openTelemetryTracing } = await import("./open-telemetry.ts");
  return openTelemetryTracing({ ...options, endpoint: options.endpoint });
}
