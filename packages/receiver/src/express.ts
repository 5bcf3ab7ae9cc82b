import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type Answer,
  accept,
  bodyTooLarge,
  checkOptions,
  DEFAULT_BODY_LIMIT_BYTES,
  headersOf,
  RawBodyLostError,
  type WebhookOptions,
} from "./accept.ts";

/**
 * A handler for `app.post(path, expressWebhook({ secret, receive }))`, express 4 and 5, NestJS, and what else has Node's
 * requests and a `next`. Put it before `express.json()`. Errors of `receive` go to `next`.
 *
 * @throws TypeError if the secret is missing or empty
 */
export function expressWebhook<Request extends IncomingMessage = IncomingMessage>(options: WebhookOptions<Request>) {
  checkOptions(options, "expressWebhook");
  const { bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  return async (request: Request, response: ServerResponse, next: (error: Error) => void): Promise<void> => {
    try {
      const body = await readRawBody(request, bodyLimitBytes);
      const answer =
        body === null ? bodyTooLarge(bodyLimitBytes) : await accept(options, request, headersOf(request), body);
      send(response, answer);
    } catch (error) {
      next(error as Error);
    }
  };
}

function send(response: ServerResponse, { status, json }: Answer): void {
  response.statusCode = status;
  if (json) response.setHeader("Content-Type", "application/json");
  response.end(json ? JSON.stringify(json) : undefined);
}

const REMEDY =
  "Express: register the route before express.json(), or let express.raw({ type: '*/*' }) read it. " +
  "NestJS: app.use(path, expressWebhook(...)) in main.ts, or, for bodies below 100 kB, NestFactory.create(AppModule, { rawBody: true }). " +
  "Next.js, in pages/api: export const config = { api: { bodyParser: false } }";

/**
 * The body's exact bytes, or null if there are more than `limitBytes` of them. What a parser in front has kept as
 * bytes (`express.raw()`, or `rawBody` on function platforms) is taken as it is.
 *
 * @throws RawBodyLostError if something has read the body and not kept its bytes
 */
async function readRawBody(
  request: IncomingMessage & { body?: unknown; rawBody?: unknown },
  limitBytes: number,
): Promise<Uint8Array | null> {
  for (const kept of [request.rawBody, request.body]) {
    if (kept instanceof Uint8Array) return kept.byteLength <= limitBytes ? kept : null;
  }
  if (request.readableDidRead) throw new RawBodyLostError(REMEDY);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes <= limitBytes) chunks.push(chunk);
      // The rest flows on unkept: the sender reads the answer when it has finished writing.
      else resolve(null);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
  });
}
