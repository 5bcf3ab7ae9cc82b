import {
  accept,
  bodyTooLarge,
  checkOptions,
  DEFAULT_BODY_LIMIT_BYTES,
  RawBodyLostError,
  type WebhookOptions,
} from "./accept.ts";

/**
 * A handler from `Request` to `Response`, for Hono, Next.js route handlers, Bun, Deno and workers that have
 * `node:crypto`. Errors of `receive` are thrown.
 *
 * @throws TypeError if the secret is missing or empty
 */
export function fetchWebhook(options: WebhookOptions<Request>): (request: Request) => Promise<Response> {
  checkOptions(options, "fetchWebhook");
  const { bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  return async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { Allow: "POST" } });
    const body = await readBody(request, bodyLimitBytes);
    const { status, json } =
      body === null ? bodyTooLarge(bodyLimitBytes) : await accept(options, request, request.headers, body);
    return json ? Response.json(json, { status }) : new Response(null, { status });
  };
}

const REMEDY =
  "Give the handler a Request whose body nothing has read: in Hono c.req.raw before c.req.json() or a validator, in Next.js the route's Request before request.json()";

/** The body's exact bytes, or null if there are more than `limitBytes` of them. */
async function readBody(request: Request, limitBytes: number): Promise<Uint8Array | null> {
  if (request.bodyUsed || request.body?.locked) throw new RawBodyLostError(REMEDY);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > limitBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
