import type { TelemetrySource, Tracing } from "./tracing.ts";

/**
 * Starts tracing where a collector is configured. OpenTelemetry is loaded only then: else it costs nothing.
 *
 * Spans are handed on as `traceparent` texts and not by a context that follows the calls: between the parts lie queues,
 * batches and the database, where none would follow.
 */
export async function startTracing(source: TelemetrySource): Promise<Tracing | undefined> {
  if (!source.config.OTEL_EXPORTER_OTLP_ENDPOINT) return undefined;
  const { openTelemetryTracing } = await import("./open-telemetry.ts");
  return openTelemetryTracing(source);
}
