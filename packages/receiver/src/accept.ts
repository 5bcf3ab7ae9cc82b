import type { IncomingMessage } from "node:http";
import { areSecrets, type HeadersInput, type Secrets, type Verified, verify } from "./verify.ts";

/** A verified request on its way to the application. */
export interface Webhook extends Verified {
  /** The exact bytes that were signed. */
  body: Uint8Array;
}

/** The options of the adapters for express, fastify and fetch. */
export interface WebhookOptions<Request> {
  /**
   * The endpoint's signing secret, or several; or a function that finds them by request, so that one route serves many
   * endpoints. Null means that there is no such endpoint, and is answered with 404. Undefined is what an unset variable
   * of the environment gives: the adapter throws when the route is made.
   */
  secret: Secrets | undefined | ((request: Request) => Secrets | null | Promise<Secrets | null>);
  /**
   * Stores the event, or puts it into a durable queue. Once it has returned and its promise has resolved, the sender gets 204 (SPEC 4.4.5). If it
   * throws or rejects, the framework answers with its error status, and the sender tries again. The sender waits 15 s by default, so long work must
   * run later, from the queue.
   */
  receive: (webhook: Webhook, request: Request) => Promise<void> | void;
  /** Larger bodies are answered with 413. 256 KiB if absent, which is the sender's own limit. */
  bodyLimitBytes?: number;
  toleranceSeconds?: number;
  headerPrefix?: string;
  now?: () => Date;
}

/** The answer to the sender. Herald keeps its first KiB, which the endpoint's admins can read. */
export interface Answer {
  status: number;
  json: { reason: string; message: string } | null;
}

export const DEFAULT_BODY_LIMIT_BYTES = 256 * 1024;

/**
 * Checks what can be known before the first request.
 *
 * @throws TypeError if the secret is missing or empty: the program does not start
 */
export function checkOptions<Request>({ secret }: WebhookOptions<Request>, adapter: string): void {
  if (typeof secret === "function" || areSecrets(secret)) return;
  throw new TypeError(
    `${adapter} has no signing secret: it is undefined or empty. Set the variable that it is read from to the secret that Herald showed`,
  );
}

/** Something has read the body and not kept its exact bytes. The fix is in the application's set-up, not in the request. */
export class RawBodyLostError extends Error {
  override name = "RawBodyLostError";
  constructor(remedy: string) {
    super(`the request body was read before its signature could be verified. ${remedy}`);
  }
}

/** Verifies one request and hands it to the application. @throws what `receive` or `secret` throws */
export async function accept<Request>(
  options: WebhookOptions<Request>,
  request: Request,
  headers: HeadersInput,
  body: Uint8Array,
): Promise<Answer> {
  const secret = typeof options.secret === "function" ? await options.secret(request) : options.secret;
  if (secret === null) return refusal(404, "unknown_endpoint", "no endpoint is configured here");
  const { toleranceSeconds = 300, headerPrefix = "X-Service", now = () => new Date() } = options;
  const verdict = verify({ secret: secret ?? [], headers, body, now: now(), toleranceSeconds, headerPrefix });
  if (!verdict.ok) return refusal(401, verdict.reason, verdict.message);
  await options.receive({ ...verdict, body }, request);
  return { status: 204, json: null };
}

/**
 * The headers as they were sent. HTTP/2, `fastify.inject` and what makes requests of function platforms fill `headers` alone:
 * there, one that was sent twice holds a comma, or is a list.
 */
export function headersOf({ headers, headersDistinct = {} }: IncomingMessage): HeadersInput {
  return Object.keys(headersDistinct).length > 0 ? headersDistinct : headers;
}

export function bodyTooLarge(limitBytes: number): Answer {
  return refusal(413, "body_too_large", `the body is larger than ${limitBytes} bytes`);
}

function refusal(status: number, reason: string, message: string): Answer {
  return { status, json: { reason, message } };
}
