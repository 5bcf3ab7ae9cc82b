import type { Attributes } from "@opentelemetry/api";
import type { serviceSettings } from "../config/common-settings.ts";
import type { Config } from "../config/settings.ts";
import type { Log } from "./log.ts";

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

export interface TraceContext {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** Reads a W3C `traceparent`; undefined for what is none. Pure. */
export function readTraceparent(text: string | null | undefined): TraceContext | undefined {
  const [, version, traceId = "", spanId = "", flags = ""] = TRACEPARENT.exec(text ?? "") ?? [];
  if (version === undefined || version === "ff" || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

export interface TelemetrySource {
  /** "publisher"; shown as `herald-publisher`. */
  service: string;
  id: string;
  config: Config<typeof serviceSettings>;
  log: Log;
}

/**
 * How a service records and exports traces. `Tracing | undefined`: undefined means that tracing is off. A span is passed on as a `traceparent` text.
 * An asynchronous context would not work: it does not pass through the queues, batches and database tables between the parts.
 */
export interface Tracing {
  startSpan(name: string, options: SpanOptions): TraceSpan;
  /** Exports what is recorded, for at most three seconds. */
  stop(): Promise<void>;
}

export interface SpanOptions {
  /** A `server` answers a request, a `consumer` handles a message, a `client` asks another system and waits. */
  kind: "server" | "consumer" | "client";
  /** `traceparent` of the span that this one is part of. Without it a trace begins. */
  parent?: string | null | undefined;
  /** `traceparent` of a span that led to this one, in a trace of its own. */
  link?: string | null | undefined;
  attributes: SpanAttributes;
}

/**
 * Facts about a span, by the names of OpenTelemetry's semantic conventions, and by names of our own that begin with `herald.`.
 * Never a secret, a payload, or a receiver's whole URL, whose path may hold a secret.
 */
export type SpanAttributes = Attributes;

export interface SpanEnd {
  /** The span's name, if it was not known at its start. */
  name?: string | undefined;
  /** The kind of failure, by `error.type`, where the span's work failed. Of few values. */
  errorType?: string | undefined;
  /** The failure in words, where its kind and the attributes do not say it. */
  error?: string | undefined;
  attributes?: SpanAttributes;
}

export interface TraceSpan {
  /** The `traceparent` to send with messages and requests that the span causes. */
  readonly traceparent: string;
  end(result?: SpanEnd): void;
}
