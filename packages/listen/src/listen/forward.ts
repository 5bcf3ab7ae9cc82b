import { ExchangeError, exchange, pairsOf, type ReceiverAnswer } from "../exchange.ts";
import type { ReceivedRequest } from "./received-request.ts";

export interface ForwardOptions {
  url: URL;
  timeoutMs: number;
}

/** The answer to the sender, and its description for the developer. */
export interface Forwarded {
  status: number;
  /** Names and values alternately. */
  headers: string[];
  body: Uint8Array;
  /** Such as "204 by http://localhost:3000/hooks in 12 ms". */
  answer: string;
}

/** Headers of one connection, not of the request (RFC 9110, 7.6.1), and those that the next connection sets itself. */
const OF_THE_CONNECTION = new Set([
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Why a request is not for the program, as an answer to the sender; null if it is handed on. */
export function refusalOf({ method, verdict }: ReceivedRequest): string | null {
  if (!verdict.ok) return `${verdict.reason}: ${verdict.message}`;
  return method === "POST" ? null : `${method} is not forwarded: Herald sends POST`;
}

/** Hands a request on byte for byte, but for the connection's headers. Never throws: if the program can't be reached, that is a 502 or 504. */
export async function forward(request: ReceivedRequest, { url, timeoutMs }: ForwardOptions): Promise<Forwarded> {
  const { method, body } = request;
  const headers = [...withoutConnection(request.headers), "Content-Length", String(body.byteLength)];
  try {
    const answered = await exchange(url, { method, headers, body }, timeoutMs);
    return passedOn(answered, `${answered.status} by ${url.href} in ${answered.durationMs} ms`);
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    const status = error.kind === "timeout" ? 504 : 502;
    return {
      status,
      headers: ["Content-Type", "text/plain; charset=utf-8"],
      body: Buffer.from(`herald-listen: ${error.message}\n`),
      answer: `${status}: ${error.message}`,
    };
  }
}

function passedOn({ status, headers, body }: ReceiverAnswer, answer: string): Forwarded {
  return { status, headers: withoutConnection(pairsOf(headers)), body, answer };
}

function withoutConnection(headers: readonly (readonly [string, string])[]): string[] {
  return headers.filter(([name]) => !OF_THE_CONNECTION.has(name.toLowerCase())).flat();
}
