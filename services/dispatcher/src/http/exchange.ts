import type { ClientRequest, IncomingMessage } from "node:http";
import { type Agent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { Clock } from "@herald/common/runtime/clock";
import got from "got";
import { type AttemptError, isAlert, NO_STATUS, TIMED_OUT, TOO_MANY_INTERIM } from "./failure.ts";
import { answerOfEqualLengths, EXCERPT_BYTES, isByTheBook, SECOND_LENGTH } from "./response.ts";
import type { Target } from "./target.ts";

export interface OutgoingRequest {
  target: Target;
  /** Flat list of names and values. */
  headers: string[];
  body: Buffer;
  agent: Agent;
  /** Milliseconds for everything up to the response's headers. */
  timeoutMs: number;
}

/** Why a request may be sent once more, over a new connection: the receiver has not read it. */
export type Again =
  /** The connection had been used before, and the receiver had ended it: it broke before it brought a byte of an answer, or brought 408 and its end. */
  | "stale"
  /** The other side ended the handshake of a new connection. */
  | "handshake broken"
  /** The receiver's certificate was not trusted, and other authorities are by now. */
  | "authorities changed";

export type Exchange = Answered | Unanswered;

export interface Answered {
  answered: true;
  again?: Again | undefined;
  statusCode: number;
  /** The chunks that were read of the body, at least as much as the excerpt takes. */
  body: Buffer[];
  /** The body is not text as it stands. */
  encoded: boolean;
  retryAfter: string | undefined;
  date: string | undefined;
  /** When the response's headers were there, by `clock.monotonicMs()`. */
  answeredAtMs: number;
}

export interface Unanswered {
  answered: false;
  error: AttemptError;
  again?: Again | undefined;
  /** The receiver was reached: a connection was made, or a reused one brought bytes, or was ended by the other side. */
  reached: boolean;
  /** It was reached by a new connection whose handshake has ended well. */
  secured: boolean;
}

/** Bytes and time for reading a body so that the connection can be used again; the status has decided before. */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_BODY_MS = 1_000;
/** Gateways with single sign-on and long policies send more than Node's default of 16 KiB. */
const MAX_HEADER_BYTES = 64 * 1024;
/** Interim responses (status 1xx) before the final one: all of them are kept in memory until then. */
const MAX_INTERIM = 32;

/**
 * got, set up once: options that are set here cost nothing per request. Each request brings a `request` function, which needs none of the options
 * that got would collect for it.
 */
export const client = got.extend({
  method: "POST",
  retry: { limit: 0 },
  followRedirect: false,
  // A decompressed response has no bounded size, and Herald does not read it.
  decompress: false,
  // Any status is an answer.
  throwHttpErrors: false,
  handlers: [
    (options, next) => {
      options.createNativeRequestOptions = () => ({}) as ReturnType<typeof options.createNativeRequestOptions>;
      return next(options);
    },
  ],
});

/**
 * Sends one request and reads as much of the answer as matters. Always resolves, with the connection back in the agent's pool or closed.
 *
 * got's own timeouts are not used: one timer does, and `timeout.response` would not stop headers that drip.
 */
export function exchange(
  { target, headers, body, agent, timeoutMs }: OutgoingRequest,
  clock: Clock,
): Promise<Exchange> {
  return new Promise((resolve) => {
    let request: ClientRequest | undefined;
    let bytesReadBefore = 0;
    let connected = false;
    let secured = false;
    let answer: Answered | undefined;
    let bodyBytes = 0;
    let interim = 0;
    const head: Buffer[] = [];
    const keepHead = (chunk: Buffer) => void head.push(chunk);

    function send(): Promise<IncomingMessage> {
      const { host, port, servername, path } = target;
      const sent = httpsRequest({
        ...{ host, port, servername, path, method: "POST", headers, agent },
        maxHeaderSize: MAX_HEADER_BYTES,
        // A receiver whose status and length can be read has answered, even with a folded header or one with a control character.
        insecureHTTPParser: true,
      });
      request = sent;
      sent.once("socket", (socket) => {
        bytesReadBefore = socket.bytesRead;
        socket.prependListener("data", keepHead);
        sent.once("response", () => socket.off("data", keepHead));
        // A reused connection emits neither event, and would keep the listeners of each request.
        if (!socket.connecting) return;
        socket.once("connect", () => {
          connected = true;
        });
        socket.once("secureConnect", () => {
          secured = true;
        });
      });
      sent.on("information", () => {
        interim += 1;
        if (interim > MAX_INTERIM) fail({ code: TOO_MANY_INTERIM, message: "" });
      });
      // A 101 takes the connection out of the agent, and leaves it to the listener of this event.
      sent.on("upgrade", (response: IncomingMessage, socket: Socket) => {
        answer = answerOf(response, sent, clock);
        socket.destroy();
        cutOff();
      });
      return new Promise((answered, failed) => {
        sent.once("response", (response) => {
          read(response);
          answered(new Head(response.statusCode) as unknown as IncomingMessage);
        });
        // This listener stays to the end: a receiver that sends more after its answer causes an error, which does not matter.
        sent.on("error", (error) => (answer ? cutOff() : failed(error)));
        // Head and body are sent together. got would write the body alone, and end the request once it is written.
        sent.end(body);
      });
    }

    const stream = client.stream(target.url, { request: send });
    stream.end();
    // If this process was busy, the answer may already be in the socket: let the event loop read it first.
    let timer = setTimeout(() => setImmediate(timeIsUp), timeoutMs);
    stream.on("error", fail);

    function read(response: IncomingMessage): void {
      clearTimeout(timer);
      timer = setTimeout(cutOff, MAX_BODY_MS);
      if ((response.statusCode ?? 0) < 100) {
        fail({ code: NO_STATUS, message: "" });
        return;
      }
      answer = answerOf(response, request as ClientRequest, clock);
      // Such a connection may be out of step, and serves no other request. The field is not in Node's types.
      if (!isByTheBook(head.length === 1 ? (head[0] as Buffer) : Buffer.concat(head)))
        Object.assign(request as ClientRequest, { shouldKeepAlive: false });
      response.on("data", (chunk: Buffer) => {
        if (bodyBytes < EXCERPT_BYTES) answer?.body.push(chunk);
        bodyBytes += chunk.length;
        if (bodyBytes > MAX_BODY_BYTES) cutOff();
      });
      response.on("end", () => {
        // If the receiver answered without reading all of the request, the rest of it holds the connection until it is read or time is up.
        if (request?.writableFinished) settle();
        else request?.once("finish", settle);
      });
      response.on("error", cutOff);
    }

    function settle(): void {
      clearTimeout(timer);
      if (answer) resolve(answer);
    }
    function timeIsUp(): void {
      if (answer === undefined) fail({ code: TIMED_OUT, message: "" });
    }
    /** The rest of the body is not worth the connection. */
    function cutOff(): void {
      settle();
      destroy();
    }
    function fail(error: AttemptError): void {
      clearTimeout(timer);
      const read = SECOND_LENGTH.includes(error.code ?? "") ? answerOfEqualLengths(Buffer.concat(head)) : undefined;
      if (read) {
        const answeredAtMs = clock.monotonicMs();
        resolve({ answered: true, ...read, retryAfter: undefined, date: undefined, answeredAtMs });
        destroy();
        return;
      }
      const hasAnswered = (request?.socket?.bytesRead ?? 0) > bytesReadBefore;
      // By the other side.
      const ended = error.code === "ECONNRESET" || error.code === "EPIPE";
      let again: Again | undefined;
      if (ended && request?.reusedSocket && !hasAnswered) again = "stale";
      if (connected && !secured && (ended || isAlert(error))) again = "handshake broken";
      resolve({ answered: false, error, again, reached: connected || hasAnswered || ended, secured });
      destroy();
    }
    function destroy(): void {
      request?.destroy();
      stream.destroy();
    }
  });
}

/**
 * The answer as got sees it: a status, and no body. Its body is read beside got, which would pass each chunk on through a stream of its own, and end it
 * in several turns of the event loop.
 */
class Head {
  readonly headers = {};
  readonly statusCode: number | undefined;
  constructor(statusCode: number | undefined) {
    this.statusCode = statusCode;
  }
  on(): this {
    return this;
  }
  once(): this {
    return this;
  }
}

function answerOf(
  { statusCode = 0, headers }: IncomingMessage,
  { reusedSocket }: ClientRequest,
  clock: Clock,
): Answered {
  const { "content-encoding": encoding, "retry-after": retryAfter, date, connection } = headers;
  const encoded = encoding !== undefined && encoding !== "identity";
  // The time for an idle connection was over as the request was on its way: RFC 9110 15.5.9.
  const isStale = statusCode === 408 && reusedSocket && connection?.toLowerCase() === "close";
  const again = isStale ? "stale" : undefined;
  return { answered: true, again, statusCode, body: [], encoded, retryAfter, date, answeredAtMs: clock.monotonicMs() };
}
