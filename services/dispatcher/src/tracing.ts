import type { SpanOptions, TraceSpan, Tracing } from "@herald/common/telemetry/tracing";
import type { AttemptResult } from "./attempt/sender.ts";
import type { Delivery } from "./sql/describe-deliveries.ts";

/**
 * The first attempt is a part of the event's trace. A retry, minutes or days later, begins a trace of its own that links
 * to it, because tracing systems close a trace much earlier.
 */
function originOf({ attempts, traceparent }: Delivery): Pick<SpanOptions, "parent" | "link"> {
  return attempts === 0 ? { parent: traceparent } : { link: traceparent };
}

export function startAttemptSpan(tracing: Tracing, delivery: Delivery, url: string): TraceSpan {
  return tracing.startSpan("attempt", {
    kind: "client",
    ...originOf(delivery),
    // Not the whole URL: its path may hold a secret.
    attributes: { ...factsOf(delivery), "http.request.method": "POST", "server.address": hostOf(url) },
  });
}

export function spanEndOf({ statusCode, errorSummary }: AttemptResult) {
  return { error: errorSummary ?? undefined, attributes: { "herald.attempt.status_code": statusCode } };
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "";
}

function factsOf({ deliveryId, endpointId, organizationId, eventType, attempts }: Delivery) {
  return {
    "herald.delivery.id": deliveryId,
    "herald.endpoint.id": endpointId,
    "herald.organization.id": organizationId,
    "herald.event.type": eventType,
    "herald.attempt.number": attempts + 1,
  };
}
