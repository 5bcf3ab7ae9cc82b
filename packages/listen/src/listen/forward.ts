import { ExchangeError, exchange, type ReceiverAnswer } from "../exchange.ts";
import type { ReceivedRequest } from "./received-request.ts";

export interface ForwardOptions {
  url: URL;
  /**
   * Whether to hand on what does not verify, by any method, to the path that was received where the URL has none.
   * Whoever reaches the listener, through a tunnel say, then reaches all of the program.
   */
  all?: boolean;
  timeoutMs: number;
}

/** What the sender gets, and how it is told to the developer. */
export interface Forwarded {
  status: number;
  /** Names and values by turns. */
  headers: string[];
  body: Uint8Array;
  /** Such as "204 by http://localhost:3000/hooks in 12 ms". */
  answer: string;
}

/** What belongs to one connection and not to the request (RFC 9110, 7.6.1), and what the next connection has again. */
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
export function refusalOf({ method, verdict }: ReceivedRequest, { all = false }: ForwardOptions): string | null {
  if (all) return null;
  if (!verdict.ok) return `${verdict.reason}: ${verdict.message}`;
  return method === "POST" ? null : `${method} is not forwarded: Herald sends POST`;
}

/**
 * Hands a request on as it came: method, body and headers byte for byte, but for the headers of the connection. Never throws: a program that can't be reached is answered for with 502 or 504, and said why.
 */
export async function forward(request: ReceivedRequest, { url, all, timeoutMs }: ForwardOptions): Promise<Forwarded> {
  const target = all ? targetOf(url, request.path) : url;
  const { method, body } = request;
  const headers = withoutConnection(request.headers);
  // A body of no bytes is said to be one, but for methods that have none.
  if (body.byteLength > 0 || !/^(GET|HEAD|DELETE|OPTIONS)$/.test(method)) {
    headers.push("Content-Length", String(body.byteLength));
  }
  try {
    const answered = await exchange(target, { method, headers, body }, timeoutMs);
    return passedOn(answered, `${answered.status} by ${target.href} in ${answered.durationMs} ms`);
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

/** A URL without a path takes the path that was received, with its query. */
export function targetOf(url: URL, receivedPath: string): URL {
  if (url.pathname !== "/" || url.search !== "" || !receivedPath.startsWith("/")) return url;
  // Joined as text: as a relative URL, "//host/path" would lead to another host.
  return new URL(`${url.origin}${receivedPath}`);
}

function passedOn({ status, headers, body }: ReceiverAnswer, answer: string): Forwarded {
  const pairs = Array.from({ length: headers.length / 2 }, (_, index): [string, string] => [
    headers[2 * index] ?? "",
    headers[2 * index + 1] ?? "",
  ]);
  return { status, headers: withoutConnection(pairs), body, answer };
}

function withoutConnection(headers: readonly (readonly [string, string])[]): string[] {
  return headers.filter(([name]) => !OF_THE_CONNECTION.has(name.toLowerCase())).flat();
}
