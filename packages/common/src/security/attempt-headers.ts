import { readTraceparent } from "../telemetry/tracing.ts";
import { serviceSignature, standardWebhooksSignature } from "./signature.ts";

export interface HeaderSettings {
  /** Before `-Signature`, `-Timestamp`, `-Event` and `-Delivery-Id`. */
  headerPrefix: string;
  /** Whether the three headers of Standard Webhooks go along. */
  standardWebhooks: boolean;
}

export interface AttemptToSend {
  deliveryId: string;
  eventType: string;
  startedAt: Date;
  /** The body as it goes over the wire; text is taken as UTF-8. */
  body: string | Buffer;
  /** W3C trace context to hand on. */
  traceparent?: string | null | undefined;
}

/**
 * The headers of one attempt but for `Host`, as a flat list of names and values (SPEC 4.2, 4.3). The dispatcher sends them,
 * and the API shows them afterwards, without a secret.
 *
 * A flat list and not an object: Node checks it and writes it out as it stands, without a map of headers in between.
 * The price is that Node adds no `Host` and no `Content-Length` of its own.
 * @param secret signs; without it the signatures are left out
 */
export function attemptHeaders(
  { deliveryId, eventType, startedAt, body, traceparent }: AttemptToSend,
  { headerPrefix, standardWebhooks }: HeaderSettings,
  secret?: string,
): string[] {
  const timestamp = timestampText(startedAt);
  const headers = ["User-Agent", "Herald"];
  // Some firewalls turn away a request that doesn't say that it takes an answer.
  headers.push("Accept", "*/*");
  headers.push("Content-Type", "application/json; charset=utf-8");
  headers.push("Content-Length", String(Buffer.byteLength(body)));
  if (secret !== undefined) headers.push(`${headerPrefix}-Signature`, serviceSignature(secret, timestamp, body));
  headers.push(`${headerPrefix}-Timestamp`, timestamp);
  headers.push(`${headerPrefix}-Event`, eventType);
  headers.push(`${headerPrefix}-Delivery-Id`, deliveryId);
  if (standardWebhooks) {
    headers.push("webhook-id", deliveryId, "webhook-timestamp", timestamp);
    if (secret !== undefined)
      headers.push("webhook-signature", standardWebhooksSignature(secret, deliveryId, timestamp, body));
  }
  // It comes from the emitter of the event. Node refuses to send what is no header text, and the failure would count
  // against the receiver.
  if (traceparent && readTraceparent(traceparent)) headers.push("traceparent", traceparent);
  return headers;
}

/** The text of the timestamp header, which the signature is made of too: whole seconds since 1970. */
export function timestampText(startedAt: Date): string {
  return String(Math.floor(startedAt.getTime() / 1_000));
}
