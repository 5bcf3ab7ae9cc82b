import { createHmac, randomUUID } from "node:crypto";
import { EVENT_TYPES, type EventType } from "@herald/receiver";
import type { OutgoingRequest } from "../exchange.ts";
import { SAMPLES } from "../samples.ts";

/** Which signature is meant: `X-Service-Signature`, or the `webhook-signature` of Standard Webhooks. */
export type Scheme = "herald" | "standard";

/** The inputs of a check's requests. */
export interface MakerOptions {
  /** The receiver's signing secret. */
  secret: string;
  /** The type of the sample events: one that the receiver takes. */
  eventType: EventType;
  headerPrefix: string;
  now: Date;
  /** The scheme whose headers deviate. */
  scheme: Scheme;
  /** Whether the headers of the other scheme verify. */
  otherVerifies: boolean;
}

/** How a request differs from one that Herald makes now. Whatever is not named is right. */
export interface Deviation {
  method?: string;
  /** The body that is sent; the one that is signed too, unless `signedBody` is given. */
  body?: Uint8Array;
  signedBody?: Uint8Array;
  /** The text of the timestamp header, signed as it is. */
  timestamp?: string;
  key?: string | Uint8Array;
  /** The timestamp in what is signed; null if nothing but the body is signed. */
  signedTimestamp?: string | null;
  /** Makes the value of the signature header from the right one. */
  signature?: (right: string) => string;
  eventId?: string;
  deliveryId?: string;
  type?: EventType;
  /** The event header's type, if it is not the body's. */
  headerType?: string;
}

export type RequestMaker = ReturnType<typeof requestMaker>;

export type HeraldHeader = "Signature" | "Timestamp" | "Event" | "Delivery-Id";

/** A signature of the right form, and of no key. */
export function forgedSignature(scheme: Scheme): string {
  return scheme === "herald" ? `sha256=${"0".repeat(64)}` : `v1,${Buffer.alloc(32).toString("base64")}`;
}

/** Makes requests that are right except for the given deviation. */
export function requestMaker(options: MakerOptions) {
  const { secret, eventType, headerPrefix, now: date, scheme, otherVerifies } = options;
  const now = Math.floor(date.getTime() / 1000);
  const nameOf = (header: HeraldHeader) =>
    scheme === "standard" && (header === "Signature" || header === "Timestamp")
      ? `webhook-${header.toLowerCase()}`
      : `${headerPrefix}-${header}`;

  const event = (fields: Record<string, unknown> = {}, type = eventType) => {
    const sample = { ...SAMPLES[type], id: randomUUID(), occurredAtUtc: date.toISOString() };
    return Buffer.from(JSON.stringify({ ...sample, ...fields }));
  };

  const signed = (deviation: Deviation = {}): OutgoingRequest => {
    const { method = "POST", eventId = randomUUID(), deliveryId = randomUUID(), type = eventType } = deviation;
    const { body = event({ id: eventId }, type), timestamp = String(now), headerType = type } = deviation;
    const other: Scheme = scheme === "herald" ? "standard" : "herald";
    const signatures = {
      [scheme]: signatureOf(scheme, secret, deliveryId, { ...deviation, body, timestamp }),
      [other]: otherVerifies
        ? signatureOf(other, secret, deliveryId, { body, timestamp: String(now) })
        : forgedSignature(other),
    } as Record<Scheme, string>;
    const timestampOf = (each: Scheme) => (each === scheme ? timestamp : String(now));
    return {
      method,
      headers: [
        ...["User-Agent", "Herald"],
        ...["Accept", "*/*"],
        ...["Content-Type", "application/json; charset=utf-8"],
        ...["Content-Length", String(body.byteLength)],
        ...[`${headerPrefix}-Signature`, signatures.herald],
        ...[`${headerPrefix}-Timestamp`, timestampOf("herald")],
        ...[`${headerPrefix}-Event`, headerType],
        ...[`${headerPrefix}-Delivery-Id`, deliveryId],
        ...["webhook-id", deliveryId],
        ...["webhook-timestamp", timestampOf("standard")],
        ...["webhook-signature", signatures.standard],
      ],
      body,
    };
  };

  return {
    /** Unix time in seconds. */
    now,
    secret,
    type: eventType,
    /** Two types other than that of the good requests. */
    otherTypes: EVENT_TYPES.filter((type) => type !== eventType).slice(0, 2),
    event: (fields?: Record<string, unknown>): Uint8Array => event(fields),
    signed,
    /** Adds a header, or removes all headers of this name if the value is null. `Signature` stands for the one with the prefix. */
    withHeader: (request: OutgoingRequest, header: HeraldHeader, value: string | null): OutgoingRequest => {
      const name = nameOf(header);
      if (value !== null) return { ...request, headers: [...request.headers, name, value] };
      const kept = pairsOf(request.headers).filter(([each]) => each !== name);
      return { ...request, headers: kept.flat() };
    },
    valueOf: ({ headers }: OutgoingRequest, header: HeraldHeader): string =>
      pairsOf(headers).find(([name]) => name === nameOf(header))?.[1] ?? "",
  };
}

type Signed = Deviation & { body: Uint8Array; timestamp: string };

/**
 * The key of `X-Service-Signature` is the secret's text. Libraries of Standard Webhooks decode the secret from Base64, so the
 * same text is another key for `webhook-signature`.
 */
function signatureOf(scheme: Scheme, secret: string, id: string, deviation: Signed): string {
  const { body, timestamp, signedBody = body, signedTimestamp = timestamp, signature = (right) => right } = deviation;
  const { key = scheme === "herald" ? secret : Buffer.from(secret, "base64") } = deviation;
  const before = signedTimestamp === null ? "" : `${scheme === "standard" ? `${id}.` : ""}${signedTimestamp}.`;
  const digest = createHmac("sha256", key).update(before).update(signedBody);
  return signature(scheme === "herald" ? `sha256=${digest.digest("hex")}` : `v1,${digest.digest("base64")}`);
}

/** The same with header names that `change` writes in another way. */
export function withNames(request: OutgoingRequest, change: (name: string) => string): OutgoingRequest {
  return { ...request, headers: pairsOf(request.headers).flatMap(([name, value]) => [change(name), value]) };
}

/** The same without its length: it goes in chunks, and ends when it ends. */
export function withoutLength(request: OutgoingRequest): OutgoingRequest {
  return {
    ...request,
    headers: pairsOf(request.headers)
      .filter(([name]) => name !== "Content-Length")
      .flat(),
  };
}

function pairsOf(headers: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: headers.length / 2 }, (_, index) => [
    headers[2 * index] ?? "",
    headers[2 * index + 1] ?? "",
  ]);
}
