import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type VerifyInput, verify } from "@herald/receiver";

export const SECRET = "mT1y+Zq0v9u4m2l8J7hF3kD5sA6pW1xC0eR9tYbNvQs=";

/** The steps of a receiver. A test can replace any of them by a mistake. */
export interface Parts {
  isPost: (method: string) => boolean;
  limitBytes: number;
  headers: (request: IncomingMessage) => VerifyInput["headers"];
  isVerified: (input: VerifyInput) => boolean;
  /** @returns the status to answer with */
  store: (body: Buffer, seen: Set<string>, headers: VerifyInput["headers"]) => number | Promise<number>;
  /** Called when a sender closes the connection in the middle of a request. */
  onCutOff: (server: Server) => void;
}

/** A right receiver, in plain Node. */
export const RIGHT: Parts = {
  isPost: (method) => method === "POST",
  limitBytes: 512 * 1024,
  headers: (request) => request.headersDistinct,
  isVerified: (input) => verify(input).ok,
  store: (body, seen) => {
    const id = idOf(body);
    if (id === null) return 400;
    seen.add(id);
    return 204;
  },
  onCutOff: () => {},
};

/** The id of an event, null for what is none. */
export function idOf(body: Buffer): string | null {
  try {
    const { id } = JSON.parse(body.toString());
    return typeof id === "string" ? id : null;
  } catch {
    return null;
  }
}

export interface SmallReceiver {
  url: URL;
  close(): Promise<void>;
}

/** @param tls makes it speak HTTPS */
export async function startReceiver(
  changes: Partial<Parts> = {},
  tls?: { cert: string; key: string },
): Promise<SmallReceiver> {
  const parts = { ...RIGHT, ...changes };
  const seen = new Set<string>();
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const body = await readBody(request, parts.limitBytes);
      response.writeHead(await statusFor(parts, request, body, seen)).end();
    } catch (error) {
      if (request.destroyed && !request.complete) parts.onCutOff(server);
      else response.writeHead(500).end(String(error));
    }
  };
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: new URL(`${tls ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function statusFor(
  parts: Parts,
  request: IncomingMessage,
  body: Buffer | null,
  seen: Set<string>,
): Promise<number> {
  if (!parts.isPost(request.method ?? "")) return 405;
  if (body === null) return 413;
  if (!parts.isVerified({ secret: SECRET, headers: parts.headers(request), body })) return 401;
  return await parts.store(body, seen, parts.headers(request));
}

/** Null if it is larger. */
async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes <= limitBytes) chunks.push(chunk);
  }
  return bytes <= limitBytes ? Buffer.concat(chunks) : null;
}
