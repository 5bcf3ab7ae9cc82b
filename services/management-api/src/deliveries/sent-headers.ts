/** How this Herald's dispatchers name their headers. */
export interface SentHeaders {
  headerPrefix: string;
  standardWebhooks: boolean;
}

/**
 * The headers that an attempt was sent with (SPEC 4.2), as far as they can be told afterwards: all but `Host`, which the
 * endpoint's URL of then decided, and the signatures, whose secret may have been replaced.
 */
export function sentHeaders(
  attempt: { deliveryId: string; eventType: string; timestamp: string; body: string; traceparent: string | null },
  { headerPrefix, standardWebhooks }: SentHeaders,
): [name: string, value: string][] {
  const { deliveryId, eventType, timestamp, body, traceparent } = attempt;
  const headers: [string, string][] = [
    ["User-Agent", "Herald"],
    ["Content-Type", "application/json; charset=utf-8"],
    ["Content-Length", String(Buffer.byteLength(body))],
    [`${headerPrefix}-Timestamp`, timestamp],
    [`${headerPrefix}-Event`, eventType],
    [`${headerPrefix}-Delivery-Id`, deliveryId],
  ];
  if (standardWebhooks) headers.push(["webhook-id", deliveryId], ["webhook-timestamp", timestamp]);
  if (traceparent) headers.push(["traceparent", traceparent]);
  return headers;
}
