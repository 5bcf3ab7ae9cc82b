import type { SpanEnd, TraceSpan, Tracing } from "@herald/common/telemetry/tracing";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { AttemptResult } from "../sql/rows.ts";

export function startAttemptSpan(tracing: Tracing, delivery: Delivery, url: string): TraceSpan {
  const { deliveryId, endpointId, organizationId, eventType, attempts, traceparent } = delivery;
  return tracing.startSpan("POST", {
    kind: "client",
    // The first attempt is a part of the event's trace. A retry, minutes or days later, begins a trace of its own that links to it, because tracing
    // systems close a trace much earlier.
    ...(attempts === 0 ? { parent: traceparent } : { link: traceparent }),
    attributes: {
      "http.request.method": "POST",
      ...serverOf(url),
      ...(attempts > 0 && { "http.request.resend_count": attempts }),
      "herald.delivery.id": deliveryId,
      "herald.endpoint.id": endpointId,
      "herald.organization.id": organizationId,
      "herald.event.type": eventType,
    },
  });
}

export function spanEndOf({ statusCode, errorSummary, failureKind }: AttemptResult): SpanEnd {
  const answered = { attributes: { "http.response.status_code": statusCode } };
  if (failureKind === null) return answered;
  if (failureKind === "http_status") return { ...answered, errorType: String(statusCode) };
  return { errorType: failureKind, error: errorSummary ?? undefined };
}

/** Not `url.full`, which the conventions ask for: a receiver's path may hold a secret. */
function serverOf(text: string) {
  const url = URL.parse(text);
  if (url === null) return {};
  return {
    "url.scheme": url.protocol.slice(0, -1),
    "server.address": url.hostname.replace(/^\[|\]$/g, ""),
    "server.port": url.port === "" ? 443 : Number(url.port),
  };
}
