import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

/** The largest event that Herald takes, and so the largest body that it sends. */
export const LARGEST_EVENT_BYTES = 256 * 1024;

export interface OutgoingRequest {
  method: string;
  /** Names and values alternately, without `Host`. They are sent unchanged, repeated ones too. */
  headers: string[];
  body: Uint8Array;
}

/** Names and values that come alternately, as pairs. */
export function pairsOf(headers: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: headers.length / 2 }, (_, index) => [
    headers[2 * index] ?? "",
    headers[2 * index + 1] ?? "",
  ]);
}

export interface ReceiverAnswer {
  status: number;
  /** Names and values alternately, as received. */
  headers: string[];
  body: Uint8Array;
  durationMs: number;
}

export type ExchangeFailure = "nothing_listens" | "unknown_host" | "certificate" | "timeout" | "too_large" | "broken";

/** Why there is no answer, in words for the person who runs the receiver. */
export class ExchangeError extends Error {
  override name = "ExchangeError";
  readonly kind: ExchangeFailure;
  constructor(kind: ExchangeFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Far beyond what a sender reads of an answer; it only bounds the memory of this process. */
const ANSWER_LIMIT_BYTES = 1024 * 1024;

/** Sends a request on a connection of its own, and reads the answer to its end. Redirects are not followed. @throws ExchangeError */
export function exchange(url: URL, outgoing: OutgoingRequest, timeoutMs: number): Promise<ReceiverAnswer> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
      method: outgoing.method,
      headers: ["Host", url.host, ...outgoing.headers],
      agent: false,
    });
    const timer = setTimeout(() => {
      fail(new ExchangeError("timeout", `${url.href} did not answer within ${timeoutMs / 1000} s`));
    }, timeoutMs);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error instanceof ExchangeError ? error : described(url, error));
      request.destroy();
    };
    request.on("error", fail);
    request.on("response", (response) => {
      readBody(url, response).then((body) => {
        clearTimeout(timer);
        const durationMs = Math.round(performance.now() - begun);
        resolve({ status: response.statusCode ?? 0, headers: response.rawHeaders, body, durationMs });
        // A receiver may answer before it has read all; the rest is not sent.
        request.destroy();
      }, fail);
    });
    request.end(outgoing.body);
  });
}

async function readBody(url: URL, response: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_LIMIT_BYTES) {
      throw new ExchangeError("too_large", `${url.href} answers with more than ${ANSWER_LIMIT_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function described(url: URL, error: Error & { code?: string }): ExchangeError {
  const { code = "", message } = error;
  const fault = (kind: ExchangeFailure, words: string) => new ExchangeError(kind, words, { cause: error });
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/.test(code)) {
    return fault(
      "nothing_listens",
      `nothing listens at ${url.href}: start your receiver there, or give the address that it listens at`,
    );
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return fault("unknown_host", `no address is known for the host ${url.hostname}: check the URL`);
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/.test(code)) {
    return fault(
      "certificate",
      `the certificate of ${url.host} is not trusted (${message}): name its authority's file in NODE_EXTRA_CA_CERTS`,
    );
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL_") || code.startsWith("HPE_")) {
    const other = url.protocol === "https:" ? "http" : "https";
    return fault("broken", `${url.host} does not speak ${url.protocol.slice(0, -1)} (${message}): try ${other}`);
  }
  return fault("broken", `${url.href} closed the connection without a whole answer (${message})`);
}
