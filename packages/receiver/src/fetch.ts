import { accept, bodyTooLarge, DEFAULT_BODY_LIMIT_BYTES, type WebhookOptions } from "./accept.ts";

/**
 * A handler from `Request` to `Response`, for Hono, Next.js route handlers, Bun, Deno and workers that have
 * `node:crypto`. Errors of `receive` are thrown.
 */
export function fetchWebhook(options: WebhookOptions<Request>): (request: Request) => Promise<Response> {
  const { bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  return async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { Allow: "POST" } });
    const body = await readBody(request, bodyLimitBytes);
    const { status, json } =
      body === null ? bodyTooLarge(bodyLimitBytes) : await accept(options, request, request.headers, body);
    return json ? Response.json(json, { status }) : new Response(null, { status });
  };
}

/** The body's exact bytes, or null if there are more than `limitBytes` of them. */
async function readBody(request: Request, limitBytes: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > limitBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
