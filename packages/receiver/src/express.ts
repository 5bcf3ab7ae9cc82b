import type { IncomingMessage, ServerResponse } from "node:http";
import { type Answer, accept, bodyTooLarge, DEFAULT_BODY_LIMIT_BYTES, type WebhookOptions } from "./accept.ts";

/**
 * A handler for `app.post(path, expressWebhook({ secret, receive }))`, express 4 and 5. Put it before `express.json()`.
 * Errors of `receive` go to `next`.
 */
export function expressWebhook<Request extends IncomingMessage = IncomingMessage>(options: WebhookOptions<Request>) {
  const { bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  return async (request: Request, response: ServerResponse, next: (error: unknown) => void): Promise<void> => {
    try {
      const body = await readRawBody(request, bodyLimitBytes);
      const answer =
        body === null ? bodyTooLarge(bodyLimitBytes) : await accept(options, request, request.headersDistinct, body);
      send(response, answer);
    } catch (error) {
      next(error);
    }
  };
}

function send(response: ServerResponse, { status, json }: Answer): void {
  response.statusCode = status;
  if (json) response.setHeader("Content-Type", "application/json");
  response.end(json ? JSON.stringify(json) : undefined);
}

/** The body's exact bytes are lost. The fix is in the application's set-up, not in the request. */
class RawBodyLostError extends Error {
  override name = "RawBodyLostError";
  constructor() {
    super(
      "the request body was parsed before its signature could be verified: register the webhook route before " +
        "express.json() and the like, or let express.raw({ type: '*/*' }) read this route",
    );
  }
}

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
  if (request.readableDidRead) throw new RawBodyLostError();
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
