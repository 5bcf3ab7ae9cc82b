import { createHmac } from "node:crypto";
import { sign } from "@herald/receiver";

/** The most that Herald takes of an event, and so the largest body that it sends. */
export const LARGEST_EVENT_BYTES = 256 * 1024;

/** A request that is ready to be sent. */
export interface OutgoingRequest {
  method: string;
  /** Names and values by turns, but for `Host`. They are sent as they stand, repeated ones too. */
  headers: string[];
  body: Uint8Array;
}

export interface ToSign {
  body: Uint8Array;
  eventType: string;
  deliveryId: string;
  /** The endpoint's signing secret, its text as it is. */
  secret: string;
  now: Date;
  headerPrefix?: string;
}

/** A request as Herald makes it, header by header (SPEC 4.2), for trying a receiver. */
export function signedRequest({ body, eventType, deliveryId, secret, now, headerPrefix }: ToSign): OutgoingRequest {
  const prefix = headerPrefix ?? "X-Service";
  const timestamp = Math.floor(now.getTime() / 1000);
  return {
    method: "POST",
    headers: [
      ...["User-Agent", "Herald"],
      ...["Accept", "*/*"],
      ...["Content-Type", "application/json; charset=utf-8"],
      ...["Content-Length", String(body.byteLength)],
      ...[`${prefix}-Signature`, sign(secret, timestamp, body)],
      ...[`${prefix}-Timestamp`, String(timestamp)],
      ...[`${prefix}-Event`, eventType],
      ...[`${prefix}-Delivery-Id`, deliveryId],
      ...["webhook-id", deliveryId],
      ...["webhook-timestamp", String(timestamp)],
      ...["webhook-signature", signStandardWebhooks(secret, deliveryId, timestamp, body)],
    ],
    body,
  };
}

/**
 * The value of `webhook-signature`, as libraries of Standard Webhooks verify it. They decode the secret from Base64, so
 * the same text is another key than that of `X-Service-Signature`.
 */
export function signStandardWebhooks(secret: string, id: string, timestamp: number, body: Uint8Array): string {
  const key = Buffer.from(secret, "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`, "utf8").update(body).digest("base64")}`;
}
