import type { IncomingMessage } from "node:http";
import { DEFAULT_BODY_LIMIT_BYTES } from "../accept.ts";
import { readRawBody } from "../raw-body.ts";
import { type Rejected, type Verified, verify } from "../verify.ts";

/** A request with all that is worth showing about it. */
export interface ReceivedRequest {
  receivedAt: Date;
  method: string;
  /** With its query. */
  path: string;
  /** In the order and the spelling in which they came, repeated ones too. */
  headers: [name: string, value: string][];
  /** Empty where it was over the limit. */
  body: Uint8Array;
  verdict: Verified | Refused;
}

/** What `verify` says, and two things that it is never asked about. */
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

/** Reads a request to its end and verifies it. Rejects where the sender hangs up in the middle. */
export async function receiveRequest(request: IncomingMessage, options: ReceiveOptions): Promise<ReceivedRequest> {
  const { now = () => new Date(), bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  const receivedAt = now();
  const headers = pairs(request.rawHeaders);
  const body = await readRawBody(request, bodyLimitBytes);
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

/** Judges a received request, also a second time when more secrets are known. */
export function verdictOn(
  { headers, body }: Pick<ReceivedRequest, "headers" | "body">,
  { secrets, toleranceSeconds = 300, headerPrefix = "X-Service" }: ReceiveOptions,
  now: Date,
): Verified | Refused {
  if (secrets.length === 0) return { ok: false, reason: "no_secret", message: "no signing secret is known here" };
  return verify({ secret: secrets, headers, body, now, toleranceSeconds, headerPrefix });
}

function pairs(rawHeaders: readonly string[]): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, i) => [
    rawHeaders[2 * i] ?? "",
    rawHeaders[2 * i + 1] ?? "",
  ]);
}
