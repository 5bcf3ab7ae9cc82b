import { parseKeyPairsIntoRecord } from "@opentelemetry/core";
import {
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import type { Log } from "./log.ts";
import { heraldVersion } from "./metrics.ts";
import type { TelemetrySource } from "./tracing.ts";

export const EXPORT_TIMEOUT_MS = 3_000;

/** While a collector is away, a line is logged at this interval, not each second. */
const COMPLAINT_INTERVAL_MS = 60_000;

/** What says whose a trace is: Herald's own facts, then what the operator adds or puts in their place, which the SDK reads by itself. */
export function resourceOf({ service, id, config }: TelemetrySource): Resource {
  const own = resourceFromAttributes({
    "service.namespace": config.BROKER_NAMESPACE,
    "service.name": `herald-${service}`,
    "service.version": heraldVersion(),
    "service.instance.id": id,
  });
  return own.merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
}

/** The options of the OTLP/HTTP exporter of traces. The SDK reads the rest, such as certificates, from the environment. */
export function exporterOptions({ config }: TelemetrySource) {
  return {
    url: `${config.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, "")}/v1/traces`,
    headers: parseKeyPairsIntoRecord(config.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  };
}

interface Exporter<Data> {
  export(data: Data, done: (result: { code: number; error?: Error }) => void): void;
}

/** Makes an exporter log when the collector takes nothing. */
export function complaining<Data, E extends Exporter<Data>>(exporter: E & Exporter<Data>, what: string, log: Log): E {
  const send = exporter.export.bind(exporter);
  let quietUntilMs = 0;
  exporter.export = (data, done) =>
    send(data, (result) => {
      if (result.error && performance.now() >= quietUntilMs) {
        quietUntilMs = performance.now() + COMPLAINT_INTERVAL_MS;
        log.warn(`${what} can't be exported; see OTEL_EXPORTER_OTLP_ENDPOINT`, { error: result.error });
      }
      done(result);
    });
  return exporter;
}

/** Ends an exporter. What can't be exported now is lost: a stop does not wait for it. */
export async function endWithin(shutdown: Promise<void>): Promise<void> {
  const late = new Promise<void>((resolve) => setTimeout(resolve, EXPORT_TIMEOUT_MS).unref());
  await Promise.race([shutdown.catch(() => undefined), late]);
}
