import type { Attributes } from "@opentelemetry/api";
import type { Log } from "./log.ts";

/** How a service records and exports traces. Undefined in its place means that tracing is off. */
export interface Tracing {
  startSpan(name: string, options: SpanOptions): TraceSpan;
  /** Exports what is recorded, for at most three seconds. */
  stop(): Promise<void>;
}

export interface SpanOptions {
  /**
   * - `consumer`: handles a message
   * - `client`: asks another system and waits
   * - `internal`: neither
   */
  kind: "consumer" | "client" | "internal";
  /** `traceparent` of the span that this one is part of. Without it a trace begins. */
  parent?: string | null | undefined;
  /** `traceparent` of a span that led to this one, in a trace of its own. */
  link?: string | null | undefined;
  attributes: SpanAttributes;
  /** When the span began: now, where absent. */
  startedAt?: Date;
}

/** Facts about a span, by name. Never a secret, a URL's path, or a payload. */
export type SpanAttributes = Attributes;

export interface TraceSpan {
  /** The `traceparent` to send with messages and requests that the span causes. */
  readonly traceparent: string;
  /** @param error in words, where the span's work failed */
  end(result?: { error?: string | undefined; attributes?: SpanAttributes; endedAt?: Date }): void;
}

export interface TracingOptions {
  /** "publisher"; shown as `herald-publisher`. */
  service: string;
  /** The URL of an OTLP collector over HTTP, without `/v1/traces`. Undefined or empty: tracing is off. */
  endpoint: string | undefined;
  /** Headers to send to the collector, as `name=value,name=value`. */
  headers?: string | undefined;
  /** Share of the traces that begin in Herald that are recorded, 0 to 1. Other traces are recorded if the service that began them records them. */
  sampledShare: number;
  log: Log;
}
