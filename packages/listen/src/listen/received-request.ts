import type { IncomingMessage } from "node:http";
import { type Rejected, type Verified, verify } from "@herald/receiver";
import { LARGEST_EVENT_BYTES, pairsOf } from "../exchange.ts";

export interface ReceivedRequest {
  receivedAt: Date;
  method: string;
  path: string;
  /** All headers in the order and spelling of the request; a repeated header is there twice. */
  headers: [name: string, value: string][];
  /** Empty if it was over the limit. */
  body: Uint8Array;
  verdict: Verified | Refused;
}

/** The verdict of `verify`, or one of two reasons for which `verify` is not called. */
export interface Refused {
  ok: false;
  reason: Rejected["reason"] | "body_too_large" | "no_secret";
  message: string;
}

export interface ReceiveOptions {
  /** The known secrets; none makes every request unverified. */
  secrets: readonly string[];
  now?: () => Date;
  bodyLimitBytes?: number;
  toleranceSeconds?: number;
  headerPrefix?: string;
}

/** Reads a request to its end and verifies it. Rejects if the sender hangs up in the middle. */
export async function receiveRequest(request: IncomingMessage, options: ReceiveOptions): Promise<ReceivedRequest> {
  const { now = () => new Date(), bodyLimitBytes = LARGEST_EVENT_BYTES } = options;
  const receivedAt = now();
  const headers = pairsOf(request.rawHeaders);
  const body = await readBody(request, bodyLimitBytes);
  return {
    receivedAt,
    method: request.method ?? "",
    path: request.url ?? "",
    headers,
    body: body ?? new Uint8Array(),
    verdict: body
      ? verdictOn({ headers, body }, options, receivedAt)
      : { ok: false, reason: "body_too_large", message: `the body is larger than ${bodyLimitBytes} bytes` },
  };
}

/** Null if it is too large: it is read to its end, since the sender reads the answer when it has finished writing. */
async function readBody(request: IncomingMessage, limitBytes: number): Promise<Uint8Array | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes <= limitBytes) chunks.push(chunk);
  }
  return bytes <= limitBytes ? Buffer.concat(chunks) : null;
}

/** Judges a received request, also a second time when more secrets are known. */
export function verdictOn(
  { headers, body }: Pick<ReceivedRequest, "headers" | "body">,
  { secrets, toleranceSeconds = 300, headerPrefix = "X-Service" }: ReceiveOptions,
  now: Date,
): Verified | Refused {
  if (secrets.length === 0) return { ok: false, reason: "no_secret", message: "no signing secret is known here" };
  return verify({ secret: secrets, headers, body, now, toleranceSeconds, headerPrefix });
}
