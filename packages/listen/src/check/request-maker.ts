import { createHmac, randomUUID } from "node:crypto";
import { EVENT_TYPES, type EventType } from "@herald/receiver";
import { type OutgoingRequest, pairsOf } from "../exchange.ts";
import { SAMPLES } from "../samples.ts";

export interface MakerOptions {
  secret: string;
  /** The type of the sample events: one that the receiver takes. */
  eventType: EventType;
  headerPrefix: string;
  now: Date;
}

/** The two signatures of a request: `X-Service-Signature`, and the `webhook-signature` of Standard Webhooks. */
type Scheme = "herald" | "standard";

export interface SignatureText {
  /** The name of the scheme and its separator: `sha256=` or `v1,` */
  prefix: string;
  /** A prefix of a scheme that receivers do not know. */
  otherPrefix: string;
  mac: Buffer;
  encoding: "hex" | "base64";
}

const FORMS = {
  herald: { prefix: "sha256=", otherPrefix: "sha512=", encoding: "hex" },
  standard: { prefix: "v1,", otherPrefix: "v2,", encoding: "base64" },
} as const;

/** How a request differs from one that Herald makes now. Both signatures and timestamps deviate alike: a receiver may verify either. */
export interface Deviation {
  method?: string;
  /** The body that is sent; the one that is signed too, unless `signedBody` is given. */
  body?: Uint8Array;
  signedBody?: Uint8Array;
  /** The text of the timestamp header, signed as it is. */
  timestamp?: string;
  /** The key of both signatures; `swapped` if each is made with the key of the other one. */
  key?: { text: string } | "swapped";
  /** The timestamp in what is signed; null if nothing but the body is signed. */
  signedTimestamp?: string | null;
  /** Writes the signature's header in another way. */
  signature?: (right: SignatureText) => string;
  /** Whether `webhook-signature` is forged, for a deviation that it can't have. */
  isStandardForged?: boolean;
  eventId?: string;
  deliveryId?: string;
  type?: EventType;
  /** The event header's type, if it is not the body's. */
  headerType?: string;
}

export type RequestMaker = ReturnType<typeof requestMaker>;

export type HeraldHeader = "Signature" | "Timestamp" | "Event" | "Delivery-Id";

export const written = ({ prefix, mac, encoding }: SignatureText): string => prefix + mac.toString(encoding);

/** Writes a signature of the right form, and of no key. */
export const zeros = (right: SignatureText): string => written({ ...right, mac: Buffer.alloc(right.mac.byteLength) });

export function requestMaker(options: MakerOptions) {
  const { secret, eventType, headerPrefix, now: date } = options;
  const now = Math.floor(date.getTime() / 1000);
  const nameOf = (header: HeraldHeader) => `${headerPrefix}-${header}`;

  const event = (fields: Record<string, unknown> = {}, type = eventType) => {
    const sample = { ...SAMPLES[type], id: randomUUID(), occurredAtUtc: date.toISOString() };
    return Buffer.from(JSON.stringify({ ...sample, ...fields }));
  };

  const signed = (deviation: Deviation = {}): OutgoingRequest => {
    const { method = "POST", eventId = randomUUID(), deliveryId = randomUUID(), type = eventType } = deviation;
    const { body = event({ id: eventId }, type), timestamp = String(now), headerType = type } = deviation;
    const signature = (scheme: Scheme) =>
      signatureOf(scheme, secret, deliveryId, {
        ...deviation,
        body,
        timestamp,
        ...(scheme === "standard" && deviation.isStandardForged && { signature: zeros }),
      });
    return {
      method,
      headers: [
        ...["User-Agent", "Herald"],
        ...["Accept", "*/*"],
        ...["Content-Type", "application/json; charset=utf-8"],
        ...["Content-Length", String(body.byteLength)],
        ...[`${headerPrefix}-Signature`, signature("herald")],
        ...[`${headerPrefix}-Timestamp`, timestamp],
        ...[`${headerPrefix}-Event`, headerType],
        ...[`${headerPrefix}-Delivery-Id`, deliveryId],
        ...["webhook-id", deliveryId],
        ...["webhook-timestamp", timestamp],
        ...["webhook-signature", signature("standard")],
      ],
      body,
    };
  };

  return {
    /** Unix time in seconds. */
    now,
    secret,
    type: eventType,
    otherTypes: EVENT_TYPES.filter((type) => type !== eventType).slice(0, 2),
    event: (fields?: Record<string, unknown>): Uint8Array => event(fields),
    signed,
    withHeader: (request: OutgoingRequest, header: HeraldHeader, value: string): OutgoingRequest => ({
      ...request,
      headers: [...request.headers, nameOf(header), value],
    }),
    /** Removes these headers, and their like of Standard Webhooks. */
    without: (request: OutgoingRequest, ...headers: HeraldHeader[]): OutgoingRequest => {
      const removed = headers.flatMap((header) => [nameOf(header), `webhook-${header.toLowerCase()}`]);
      return {
        ...request,
        headers: pairsOf(request.headers)
          .filter(([name]) => !removed.includes(name))
          .flat(),
      };
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
  const { body, timestamp, signedBody = body, signedTimestamp = timestamp, signature = written, key } = deviation;
  const isDecoded = (scheme === "standard") !== (key === "swapped");
  const usual = isDecoded ? Buffer.from(secret, "base64") : secret;
  const before = signedTimestamp === null ? "" : `${scheme === "standard" ? `${id}.` : ""}${signedTimestamp}.`;
  const hmac = createHmac("sha256", typeof key === "object" ? key.text : usual);
  return signature({ ...FORMS[scheme], mac: hmac.update(before).update(signedBody).digest() });
}

export function withNames(request: OutgoingRequest, change: (name: string) => string): OutgoingRequest {
  return { ...request, headers: pairsOf(request.headers).flatMap(([name, value]) => [change(name), value]) };
}

/** Without its length a request goes in chunks, and ends when it ends. */
export function withoutLength(request: OutgoingRequest): OutgoingRequest {
  return {
    ...request,
    headers: pairsOf(request.headers)
      .filter(([name]) => name !== "Content-Length")
      .flat(),
  };
}
