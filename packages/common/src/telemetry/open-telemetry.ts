import {
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Log } from "./log.ts";
import { heraldVersion } from "./metrics.ts";
import { readTraceparent, writeTraceparent } from "./trace-context.ts";
import type { Tracing, TracingOptions } from "./tracing.ts";

const EXPORT_TIMEOUT_MS = 3_000;

/** Spans that wait for the collector at the most, some 2 KB each; further ones are dropped. */
const MAX_WAITING_SPANS = 8_192;

/** While a collector is away, a line is logged at this interval, not each second. */
const COMPLAINT_INTERVAL_MS = 60_000;

const KINDS = { consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

/** Tracing over OTLP/HTTP with JSON. Nothing is registered globally, so that two services of one process do not mix their traces. */
export function openTelemetryTracing(options: TracingOptions & { endpoint: string }): Tracing {
  const { service, endpoint, headers, sampledShare, log } = options;
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
    headers: readHeaders(headers),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": `herald-${service}`, "service.version": heraldVersion() }),
    sampler: followingSampler(sampledShare),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: complaining(exporter, log),
        maxQueueSize: MAX_WAITING_SPANS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
        scheduledDelayMillis: 1_000,
      }),
    ],
  });
  const tracer = provider.getTracer("herald");

  return {
    startSpan(name, { kind, parent, link, attributes, startedAt }) {
      const parentContext = contextOf(parent);
      const linked = contextOf(link);
      const span = tracer.startSpan(
        name,
        {
          kind: KINDS[kind],
          attributes,
          links: linked ? [{ context: linked }] : [],
          ...(startedAt && { startTime: startedAt }),
        },
        parentContext ? trace.setSpanContext(ROOT_CONTEXT, parentContext) : ROOT_CONTEXT,
      );
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceparent: writeTraceparent({ traceId, spanId, isSampled: isSampled(traceFlags) }),
        end({ error, attributes: more, endedAt } = {}) {
          if (more) span.setAttributes(more);
          if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
          span.end(endedAt);
        },
      };
    },
    async stop() {
      // Spans that can't be exported now are lost: a stop does not wait for them.
      await Promise.race([provider.shutdown().catch(() => undefined), after(EXPORT_TIMEOUT_MS)]);
    },
  };
}

/** A span that continues or links to a trace is recorded if that trace is; one that begins a trace, by the share. */
function followingSampler(share: number): Sampler {
  const beginning = new TraceIdRatioBasedSampler(share);
  return {
    shouldSample(context, traceId, _name, _kind, _attributes, links: Link[]) {
      const followed = trace.getSpanContext(context) ?? links[0]?.context;
      if (!followed) return beginning.shouldSample(context, traceId);
      return {
        decision: isSampled(followed.traceFlags) ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
      };
    },
    toString: () => `FollowingSampler{${share}}`,
  };
}

/** The exporter, which logs when the collector takes nothing. */
function complaining(exporter: SpanExporter, log: Log): SpanExporter {
  let quietUntilMs = 0;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error && performance.now() >= quietUntilMs) {
          quietUntilMs = performance.now() + COMPLAINT_INTERVAL_MS;
          log.warn("traces can't be exported and are dropped; see OTEL_EXPORTER_OTLP_ENDPOINT", {
            error: result.error,
          });
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

function contextOf(traceparent: string | null | undefined): SpanContext | undefined {
  const read = readTraceparent(traceparent);
  if (!read) return undefined;
  const { traceId, spanId } = read;
  return { traceId, spanId, traceFlags: read.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

function isSampled(flags: number): boolean {
  return (flags & TraceFlags.SAMPLED) === TraceFlags.SAMPLED;
}

function readHeaders(text = ""): Record<string, string> {
  const pairs = text.split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at < 1 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()]];
  });
  return Object.fromEntries(pairs);
}

function after(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
