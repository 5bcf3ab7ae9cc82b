import type { IncomingMessage } from "node:http";
import { accept, checkOptions, DEFAULT_BODY_LIMIT_BYTES, headersOf, type WebhookOptions } from "./accept.ts";

/** The part of a fastify instance that the plugin uses. */
interface Fastify {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    contentType: string,
    options: { parseAs: "buffer" },
    parser: (request: never, body: Buffer, done: (error: Error | null, body: Buffer) => void) => void,
  ): unknown;
  post(
    path: string,
    options: { bodyLimit: number },
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
  ): unknown;
}

interface FastifyRequest {
  raw: IncomingMessage;
  body?: unknown;
}

interface FastifyReply {
  code(status: number): unknown;
  send(payload?: unknown): unknown;
}

/**
 * A plugin that adds one route: `app.register(fastifyWebhook, { path: "/hooks", secret, receive })`, fastify 4 and 5.
 * It reads the raw body for its own route only; the application's other parsers stay as they are. Errors of `receive`
 * go to fastify's error handler.
 *
 * @throws TypeError if the secret is missing or empty, which ends fastify's start
 */
export async function fastifyWebhook(
  fastify: Fastify,
  options: WebhookOptions<IncomingMessage> & { path: string },
): Promise<void> {
  checkOptions(options, "fastifyWebhook");
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  const route = { bodyLimit: options.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES };
  fastify.post(options.path, route, async ({ raw, body }, reply) => {
    const bytes = body instanceof Uint8Array ? body : new Uint8Array();
    const { status, json } = await accept(options, raw, headersOf(raw), bytes);
    reply.code(status);
    return reply.send(json ?? undefined);
  });
}
