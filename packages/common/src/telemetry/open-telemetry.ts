import {
  type Context,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { parseKeyPairsIntoRecord } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { within } from "../runtime/repeat.ts";
import { heraldVersion } from "./metrics.ts";
import { readTraceparent, type TelemetrySource, type Tracing, writeTraceparent } from "./tracing.ts";

const EXPORT_TIMEOUT_MS = 3_000;
/** While a collector is away, a line is logged at this interval, not each second. */
const COMPLAINT_INTERVAL_MS = 60_000;
/** At most this many spans wait for the collector, some 2 KB each; further ones are dropped. */
const MAX_WAITING_SPANS = 8_192;

const KINDS = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT };

/** Tracing over OTLP/HTTP with JSON. Nothing is registered globally, so that two services of one process do not mix their traces. */
export function openTelemetryTracing(source: TelemetrySource): Tracing {
  const exporter = exporterOf(source);
  const provider = new TracerProvider({
    resource: resourceOf(source),
    sampler: samplerOf(source),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_WAITING_SPANS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
        scheduledDelayMillis: 1_000,
      }),
    ],
  });
  const tracer = provider.getTracer("herald");

  return {
    startSpan(name, { kind, parent, link, attributes }) {
      const parentContext = contextOf(parent);
      const linked = contextOf(link);
      const span = tracer.startSpan(
        name,
        { kind: KINDS[kind], attributes, links: linked ? [{ context: linked }] : [] },
        parentContext ? trace.setSpanContext(ROOT_CONTEXT, parentContext) : ROOT_CONTEXT,
      );
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceparent: writeTraceparent({ traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 }),
        end({ name: known, errorType, error, attributes: more } = {}) {
          if (known !== undefined) span.updateName(known);
          if (more) span.setAttributes(more);
          if (errorType !== undefined) {
            span.setAttribute("error.type", errorType);
            span.setStatus({ code: SpanStatusCode.ERROR, ...(error !== undefined && { message: error }) });
          }
          span.end();
        },
      };
    },
    async stop() {
      // Spans that can't be exported by then are lost.
      await within(EXPORT_TIMEOUT_MS, provider.shutdown()).catch(() => undefined);
    },
  };
}

/** Herald's own facts; the operator's, which the SDK reads by itself, are added or replace them. */
function resourceOf({ service, id, config }: TelemetrySource): Resource {
  const own = resourceFromAttributes({
    "service.namespace": config.BROKER_NAMESPACE,
    "service.name": `herald-${service}`,
    "service.version": heraldVersion(),
    "service.instance.id": id,
  });
  return own.merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
}

/** An exporter that logs if the collector takes nothing. The SDK reads the rest, such as certificates, from the environment. */
function exporterOf({ config, log }: TelemetrySource): OTLPTraceExporter {
  const exporter = new OTLPTraceExporter({
    url: `${config.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, "")}/v1/traces`,
    headers: parseKeyPairsIntoRecord(config.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const send = exporter.export.bind(exporter);
  let quietUntilMs = 0;
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      if (result.error && performance.now() >= quietUntilMs) {
        quietUntilMs = performance.now() + COMPLAINT_INTERVAL_MS;
        log.warn("traces can't be exported; see OTEL_EXPORTER_OTLP_ENDPOINT", { error: result.error });
      }
      done(result);
    });
  return exporter;
}

function samplerOf({ config }: TelemetrySource): Sampler {
  const { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share } = config;
  const beginning = name.endsWith("always_on")
    ? new AlwaysOnSampler()
    : name.endsWith("always_off")
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(share);
  return name.startsWith("parentbased_") ? followingSampler(beginning) : beginning;
}

/** A span that continues or links to a trace is recorded if that trace is; one that begins a trace, by `beginning`. */
function followingSampler(beginning: Sampler): Sampler {
  const byParent = new ParentBasedSampler({ root: beginning });
  return {
    shouldSample(context: Context, traceId, name, kind, attributes, links: Link[]) {
      // A retry has no parent: it follows its link as if that were one.
      const linked = trace.getSpanContext(context) ? undefined : links[0]?.context;
      const followed = linked ? trace.setSpanContext(context, linked) : context;
      return byParent.shouldSample(followed, traceId, name, kind, attributes, links);
    },
    toString: () => `FollowingSampler{${byParent}}`,
  };
}

function contextOf(traceparent: string | null | undefined): SpanContext | undefined {
  const read = readTraceparent(traceparent);
  if (!read) return undefined;
  const { traceId, spanId } = read;
  return { traceId, spanId, traceFlags: read.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}
