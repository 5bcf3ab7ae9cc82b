import { TimeUnknownError } from "@herald/common/database/database-clock";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { Histogram, type Registry } from "@herald/common/telemetry/metrics";
import { readTraceparent, type TraceSpan, type Tracing } from "@herald/common/telemetry/tracing";
import compression from "compression";
import type { Request, RequestHandler, Response } from "express";
import { v7 } from "uuid";

interface Traced {
  tracing: Tracing;
  apiPath: string;
  /** The scheme that clients use: a proxy may end TLS. */
  scheme: string;
}

/** Logs, measures and traces each request, by an id that its response has too. No query, header or body is in it: those can be secret. */
export function observe(log: Log, registry: Registry, traced: Traced | undefined): RequestHandler {
  const durations = new Histogram({
    name: "herald_api_request_duration_seconds",
    help: "Time from a request's headers to the end of its response.",
    labelNames: ["operation", "status"],
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
    registers: [registry],
  });
  return (request, response, next) => {
    const startedAt = performance.now();
    const requestId = v7();
    response.locals.requestId = requestId;
    response.set("X-Request-Id", requestId);
    const given = request.get("traceparent");
    const span = traced && startSpan(traced, request, given);
    response.locals.traceparent = span?.traceparent ?? (readTraceparent(given) && given);
    response.once("close", () => {
      const durationMs = performance.now() - startedAt;
      const operation: string = response.locals.operation ?? "none";
      durations.observe({ operation, status: response.statusCode }, durationMs / 1000);
      const { statusCode: status, locals } = response;
      if (traced) endSpan(traced, span, request, response);
      log[levelOf(request.method, status, locals.problemCode)]("request", {
        requestId,
        operation,
        method: request.method,
        status,
        durationMs: Math.round(durationMs),
        ...(locals.problemCode !== undefined && { code: locals.problemCode, detail: locals.problemDetail }),
        ...(locals.caller !== undefined && {
          organizationId: locals.caller.organizationId,
          subject: locals.caller.subject,
        }),
        ...(locals.endpointId !== undefined && { endpointId: locals.endpointId }),
        ...(!response.writableFinished && { aborted: true }),
      });
    });
    next();
  };
}

/** The methods that the conventions know of those that Node takes. */
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "QUERY"];
const methodOf = ({ method }: Request) => (METHODS.includes(method) ? method : undefined);

function startSpan({ tracing, scheme }: Traced, request: Request, parent: string | undefined): TraceSpan {
  const method = methodOf(request);
  return tracing.startSpan(method ?? "HTTP", {
    kind: "server",
    parent,
    attributes: { "http.request.method": method ?? "_OTHER", "url.scheme": scheme, "url.path": request.path },
  });
}

function endSpan({ apiPath }: Traced, span: TraceSpan | undefined, request: Request, response: Response): void {
  const { statusCode: status, locals, writableFinished } = response;
  const route = locals.route && apiPath + locals.route;
  span?.end({
    ...(route && { name: `${methodOf(request) ?? "HTTP"} ${route}` }),
    ...(!writableFinished ? { errorType: "aborted" } : status >= 500 && { errorType: String(status) }),
    attributes: {
      ...(route && { "http.route": route }),
      "http.response.status_code": status,
      "herald.request.id": locals.requestId,
      ...(locals.caller?.organizationId && { "herald.organization.id": locals.caller.organizationId }),
      ...(locals.problemCode && { "herald.problem.code": locals.problemCode }),
    },
  });
}

/** Problems of all requests, for as long as an outage lasts. It has two lines. */
const OF_OUTAGES = ["database_unavailable", "key_server_unavailable"];

/** An operator wants to see who changed what, but not each poll of the page. */
function levelOf(method: string, status: number, problem: string | undefined): "debug" | "info" | "warn" {
  const isOfOutage = OF_OUTAGES.includes(problem ?? "");
  if (status >= 500 && !isOfOutage) return "warn";
  return method === "GET" && (status < 400 || isOfOutage) ? "debug" : "info";
}

/** The headers of every answer: other sites may use none of them, and no cache may keep an answer of the API. */
export const SECURITY_HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const;

/** A year, as browsers' own lists ask for. Other hosts of the domain aren't Herald's to speak for. */
const HTTPS_ONLY = { "Strict-Transport-Security": "max-age=31536000" };

/** @param publicOrigin the service's origin for browsers; if it is https, they must use nothing else (RFC 6797) */
export function securityHeaders(publicOrigin: string | undefined): RequestHandler {
  const headers = { ...SECURITY_HEADERS, ...(publicOrigin?.startsWith("https:") && HTTPS_ONLY) };
  return (_request, response, next) => {
    response.set(headers);
    next();
  };
}

/** Sets the header `Date` by the clock of all times in responses, and not by the machine's: the page compares them with it. */
export function dateHeader(clock: Clock): RequestHandler {
  return (_request, response, next) => {
    try {
      response.set("Date", clock.now().toUTCString());
    } catch (error) {
      if (!(error instanceof TimeUnknownError)) throw error;
    }
    next();
  };
}

const SMALLEST_COMPRESSED_BYTES = 1_024;

/**
 * Compresses the API's answers to GET: an overview of 100 endpoints is 290 KB of text, and 15 KB compressed. That costs milliseconds,
 * and only callers with a token get answers so long; public files are compressed at the start. Answers to changes
 * stay uncompressed, since they can hold a secret beside a text that the caller chose: the length of both, compressed together, would
 * reveal the secret.
 */
export const compressReads: RequestHandler = compression({
  threshold: SMALLEST_COMPRESSED_BYTES,
  filter: (request, response) => request.method === "GET" && compression.filter(request, response),
});
