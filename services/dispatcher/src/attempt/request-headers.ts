import { serviceSignature, standardWebhooksSignature } from "@herald/common/security/signature";
import type { AttemptRequest } from "./sender.ts";

export interface HeaderSettings {
  /** Before `-Signature`, `-Timestamp`, `-Event` and `-Delivery-Id`. */
  headerPrefix: string;
  /** Whether the three headers of Standard Webhooks go along. */
  standardWebhooks: boolean;
  userAgent: string;
}

/** Writes the headers of one attempt, as a flat list of names and values (SPEC 4.2, 4.3). */
export type RequestHeaders = (request: AttemptRequest, host: string, body: Buffer, startedAt: Date) => string[];

/**
 * A flat list and not an object: Node checks it and writes it out as it stands, without a map of headers in between.
 * The price is that `Host` and `Content-Length` are ours to give.
 */
export function createRequestHeaders({ headerPrefix, standardWebhooks, userAgent }: HeaderSettings): RequestHeaders {
  const names = {
    signature: `${headerPrefix}-Signature`,
    timestamp: `${headerPrefix}-Timestamp`,
    event: `${headerPrefix}-Event`,
    deliveryId: `${headerPrefix}-Delivery-Id`,
  };

  return (request, host, body, startedAt) => {
    const timestamp = String(Math.floor(startedAt.getTime() / 1000));
    const headers = [
      "Host",
      host,
      "User-Agent",
      userAgent,
      // Some firewalls turn away what does not say that it takes an answer.
      "Accept",
      "*/*",
      "Content-Type",
      "application/json; charset=utf-8",
      "Content-Length",
      String(body.length),
      names.signature,
      serviceSignature(request.secret, timestamp, body),
      names.timestamp,
      timestamp,
      names.event,
      request.eventType,
      names.deliveryId,
      request.deliveryId,
    ];
    if (standardWebhooks) {
      headers.push(
        "webhook-id",
        request.deliveryId,
        "webhook-timestamp",
        timestamp,
        "webhook-signature",
        standardWebhooksSignature(request.secret, request.deliveryId, timestamp, body),
      );
    }
    if (isTraceparent(request.traceparent)) headers.push("traceparent", request.traceparent);
    return headers;
  };
}

/**
 * It comes from whoever emitted the event. What is no trace context is left out, since a header that Node refuses would
 * fail the attempt, and the failure would count against the receiver.
 */
function isTraceparent(text: string | undefined): text is string {
  return text !== undefined && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(text);
}
