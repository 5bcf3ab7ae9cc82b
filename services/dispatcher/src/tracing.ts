import type { SpanOptions, TraceSpan, Tracing } from "@herald/common/telemetry/tracing";
import type { AttemptResult } from "./attempt/sender.ts";
import type { ClaimedDelivery } from "./sql/claimed-delivery.ts";

type Claim = () => Promise<ClaimedDelivery[]>;

/**
 * Records claims as spans: each claimed delivery gets a span over the statement, and carries that span's trace context on
 * in place of the event's.
 */
export function traceClaims(tracing: Tracing | undefined): (claim: Claim) => Promise<ClaimedDelivery[]> {
  if (!tracing) return (claim) => claim();
  return async (claim) => {
    const startedAt = new Date();
    const claimed = await claim();
    const endedAt = new Date();
    return claimed.map((delivery) => {
      const span = tracing.startSpan("claim", {
        ...originOf(delivery),
        kind: "internal",
        attributes: factsOf(delivery),
        startedAt,
      });
      span.end({ endedAt });
      return { ...delivery, traceparent: span.traceparent };
    });
  };
}

/**
 * The first attempt is a part of the event's trace. A retry, minutes or days later, begins a trace of its own that links
 * to it, because tracing systems close a trace much earlier.
 */
function originOf({ attempt, traceparent }: ClaimedDelivery): Pick<SpanOptions, "parent" | "link"> {
  return attempt === 1 ? { parent: traceparent } : { link: traceparent };
}

export function startAttemptSpan(tracing: Tracing, delivery: ClaimedDelivery): TraceSpan {
  return tracing.startSpan("attempt", {
    kind: "client",
    parent: delivery.traceparent,
    // Not the whole URL: its path may hold a secret.
    attributes: { ...factsOf(delivery), "http.request.method": "POST", "server.address": hostOf(delivery.url) },
  });
}

export function spanEndOf({ statusCode, errorSummary }: AttemptResult) {
  return { error: errorSummary ?? undefined, attributes: { "herald.attempt.status_code": statusCode } };
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "";
}

function factsOf({ deliveryId, endpointId, organizationId, eventType, attempt }: ClaimedDelivery) {
  return {
    "herald.delivery.id": deliveryId,
    "herald.endpoint.id": endpointId,
    "herald.organization.id": organizationId,
    "herald.event.type": eventType,
    "herald.attempt.number": attempt,
  };
}
