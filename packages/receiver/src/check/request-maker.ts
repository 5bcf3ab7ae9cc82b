import { createHmac, randomUUID } from "node:crypto";
import { type EventType, SAMPLES } from "../events.ts";
import type { OutgoingRequest } from "../send/signed-request.ts";

/** What the requests of a check are made of. */
export interface MakerOptions {
  /** The receiver's signing secret. */
  secret: string;
  /** The type of the sample events: one that the receiver takes. */
  eventType: EventType;
  headerPrefix: string;
  now: Date;
}

/** How a request differs from one that Herald makes now. What is not named is right. */
export interface Deviation {
  method?: string;
  /** The body that is sent; the one that is signed too, unless `signedBody` is given. */
  body?: Uint8Array;
  signedBody?: Uint8Array;
  /** The text of the timestamp header, signed as it is. */
  timestamp?: string;
  key?: string | Uint8Array;
  /** Before the body in what is signed: the timestamp and a dot. */
  signedPrefix?: string;
  /** Makes the signature header's value of the right one. */
  signature?: (right: string) => string;
  eventId?: string;
  deliveryId?: string;
}

/** Makes requests that are right but for what they are told. */
export interface RequestMaker {
  /** Unix time in seconds. */
  now: number;
  secret: string;
  event(fields?: Record<string, unknown>): Uint8Array;
  signed(deviation?: Deviation): OutgoingRequest;
  /** Adds a header, or removes each of its name where the value is null. `Signature` stands for the one with the prefix. */
  withHeader(request: OutgoingRequest, name: HeraldHeader, value: string | null): OutgoingRequest;
  valueOf(request: OutgoingRequest, name: HeraldHeader): string;
}

export type HeraldHeader = "Signature" | "Timestamp" | "Event" | "Delivery-Id";

export function requestMaker({ secret, eventType, headerPrefix, now: date }: MakerOptions): RequestMaker {
  const now = Math.floor(date.getTime() / 1000);
  const nameOf = (header: HeraldHeader) => `${headerPrefix}-${header}`;

  const event = (fields: Record<string, unknown> = {}) => {
    const sample = { ...SAMPLES[eventType], id: randomUUID(), occurredAtUtc: date.toISOString() };
    return Buffer.from(JSON.stringify({ ...sample, ...fields }));
  };

  const signed = (deviation: Deviation = {}): OutgoingRequest => {
    const { method = "POST", eventId = randomUUID(), deliveryId = randomUUID() } = deviation;
    const { body = event({ id: eventId }), timestamp = String(now), key = secret } = deviation;
    const { signedBody = body, signedPrefix = `${timestamp}.`, signature = (right) => right } = deviation;
    const digest = createHmac("sha256", key).update(signedPrefix).update(signedBody).digest("hex");
    return {
      method,
      headers: [
        ...["User-Agent", "Herald"],
        ...["Accept", "*/*"],
        ...["Content-Type", "application/json; charset=utf-8"],
        ...["Content-Length", String(body.byteLength)],
        ...[nameOf("Signature"), signature(`sha256=${digest}`)],
        ...[nameOf("Timestamp"), timestamp],
        ...[nameOf("Event"), eventType],
        ...[nameOf("Delivery-Id"), deliveryId],
      ],
      body,
    };
  };

  return {
    now,
    secret,
    event,
    signed,
    withHeader: (request, header, value) => {
      const name = nameOf(header);
      if (value !== null) return { ...request, headers: [...request.headers, name, value] };
      const kept = pairsOf(request.headers).filter(([each]) => each !== name);
      return { ...request, headers: kept.flat() };
    },
    valueOf: ({ headers }, header) => pairsOf(headers).find(([name]) => name === nameOf(header))?.[1] ?? "",
  };
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
