import type { Log } from "@herald/common/telemetry/log";
import { Histogram, type Registry } from "@herald/common/telemetry/metrics";
import type { RequestHandler } from "express";
import { v7 } from "uuid";

/**
 * Gives each request an id, which the response, its problem and the log share, and writes down how it ended. The line
 * holds no query, header or body: those can be secret.
 */
export function observe({ log, registry }: { log: Log; registry: Registry }): RequestHandler {
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
    response.once("close", () => {
      const durationMs = performance.now() - startedAt;
      const operation: string = response.locals.operation ?? "none";
      durations.observe({ operation, status: response.statusCode }, durationMs / 1000);
      const { statusCode: status, locals } = response;
      log[levelOf(request.method, status)]("request", {
        requestId,
        operation,
        method: request.method,
        status,
        durationMs: Math.round(durationMs),
        ...(locals.problemCode !== undefined && { code: locals.problemCode }),
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

/** Who changed what is for everyone who runs Herald; that pages poll is for nobody. */
function levelOf(method: string, status: number): "debug" | "info" | "warn" {
  if (status >= 500) return "warn";
  return method === "GET" && status < 400 ? "debug" : "info";
}
