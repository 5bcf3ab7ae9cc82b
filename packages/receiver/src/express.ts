import type { IncomingMessage, ServerResponse } from "node:http";
import { type Answer, accept, bodyTooLarge, DEFAULT_BODY_LIMIT_BYTES, type WebhookOptions } from "./accept.ts";
import { readRawBody } from "./raw-body.ts";

/**
 * A handler for `app.post(path, expressWebhook({ secret, receive }))`, express 4 and 5. Put it before `express.json()`.
 * What `receive` throws goes to `next`.
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
