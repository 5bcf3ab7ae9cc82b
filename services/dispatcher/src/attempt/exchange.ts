import type { ClientRequest, IncomingMessage } from "node:http";
import { type Agent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { type Got, got } from "got";
import { type AttemptError, TIMED_OUT, TOO_MANY_INTERIM } from "./error-summary.ts";
import { EXCERPT_BYTES } from "./response-excerpt.ts";
import type { Target } from "./target.ts";

/** One request on its way. */
export interface OutgoingRequest {
  target: Target;
  /** Flat list of names and values. */
  headers: string[];
  body: Buffer;
  agent: Agent;
  /** For everything up to the response's headers. */
  timeoutMs: number;
}

export type Exchange =
  | { answered: true; statusCode: number; excerpt: Uint8Array[]; headersAtMs: number }
  | { answered: false; error: AttemptError; staleConnection: boolean };

/** What is read of a response's body, so that the connection can be used again. */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_BODY_MS = 1_000;
/** As many bytes of headers as Node's own default, whatever flags the process was started with. */
const MAX_HEADER_BYTES = 16 * 1024;
/** A receiver may say "processing" (102) now and then while it works. */
const MAX_INTERIM = 32;

/** got, set up once: options given here cost nothing per request. */
export const client: Got = got.extend({
  method: "POST",
  isStream: true,
  retry: { limit: 0 },
  followRedirect: false,
  decompress: false,
  throwHttpErrors: false,
  copyPipedHeaders: false,
  ignoreInvalidCookies: true,
}) as Got;

/**
 * Sends one request and reads as much of the answer as matters. Resolves in every case, with the connection back in
 * the agent's pool or closed.
 */
export function exchange({ target, headers, body, agent, timeoutMs }: OutgoingRequest): Promise<Exchange> {
  return new Promise((resolve) => {
    let request: ClientRequest | undefined;
    let bytesReadBefore = 0;
    let answer: (Exchange & { answered: true }) | undefined;
    let bodyBytes = 0;
    let interim = 0;
    let done = false;

    const stream = client(target.url, {
      body,
      request: () => {
        request = httpsRequest({
          host: target.host,
          port: target.port,
          path: target.path,
          method: "POST",
          headers,
          agent,
          maxHeaderSize: MAX_HEADER_BYTES,
        });
        request.once("socket", (socket) => {
          bytesReadBefore = socket.bytesRead;
        });
        return request;
      },
    } as never) as unknown as ReturnType<Got["stream"]>;

    let timer = setTimeout(() => fail({ code: TIMED_OUT, message: "" }), timeoutMs);

    function settle(outcome: Exchange): void {
      if (done) return;
      done = true;
      clearTimeout(timer);
      resolve(outcome);
    }
    function fail(error: AttemptError): void {
      if (done) return;
      const socket = request?.socket;
      const staleConnection =
        request?.reusedSocket === true &&
        socket?.bytesRead === bytesReadBefore &&
        (error.code === "ECONNRESET" || error.code === "EPIPE");
      settle({ answered: false, error, staleConnection });
      stream.destroy();
    }
    /** The status has decided; what is left of the body is not worth the connection. */
    function cutOff(): void {
      if (answer) settle(answer);
      stream.destroy();
    }

    stream.on("response", (response: IncomingMessage) => {
      clearTimeout(timer);
      timer = setTimeout(cutOff, MAX_BODY_MS);
      answer = { answered: true, statusCode: response.statusCode ?? 0, excerpt: [], headersAtMs: performance.now() };
    });
    stream.on("data", (chunk: Buffer) => {
      if (answer && bodyBytes < EXCERPT_BYTES) answer.excerpt.push(chunk);
      bodyBytes += chunk.length;
      if (bodyBytes > MAX_BODY_BYTES) cutOff();
    });
    stream.on("end", () => {
      // Answered before it had read the request: the rest of our body would hold the connection.
      if (request?.writableFinished) answer && settle(answer);
      else cutOff();
    });
    stream.on("error", (error: AttemptError) => {
      if (answer) cutOff();
      else fail(error);
    });
    stream.on("information", () => {
      interim += 1;
      if (interim > MAX_INTERIM) fail({ code: TOO_MANY_INTERIM, message: "" });
    });
    stream.on("upgrade", (response: IncomingMessage, socket: Socket) => {
      socket.destroy();
      settle({ answered: true, statusCode: response.statusCode ?? 101, excerpt: [], headersAtMs: performance.now() });
      stream.destroy();
    });
  });
}
