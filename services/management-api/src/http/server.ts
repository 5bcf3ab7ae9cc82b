import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { v7 } from "uuid";
import { catalogue, type ProblemCode } from "../problems/catalogue.ts";
import { toProblem } from "../problems/problem-error.ts";

export interface ApiServer {
  port: number;
  /** Takes no more connections. Resolves when every request under way has been answered, or when `end` was called. */
  close(): Promise<void>;
  /** Closes the connections of requests that are still under way. */
  end(): void;
}

/** How long a request's headers, and the whole of it, may take to arrive. The longest valid body is some 1.6 MB. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the keep-alive of the usual proxies (60 s), so that the proxy closes an idle connection and not this server. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

export async function startServer(app: RequestListener, address: { host: string; port: number }): Promise<ApiServer> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      // Slow requests are looked for each second; the default is each half minute.
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      if (stopping) response.setHeader("Connection", "close");
      // The headers of a request that was under way when the stop began have promised to keep the connection open.
      else response.once("close", () => stopping && setImmediate(() => server.closeIdleConnections()));
      app(request, response);
    },
  );
  let stopping = false;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => refuse(error, socket as Socket));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(address.port, address.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        stopping = true;
        server.close(() => resolve());
      }),
    end: () => server.closeAllConnections(),
  };
}

/** A request that isn't HTTP, or took too long, never reaches the app. It is answered with a problem too. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const code = problemCodeOf(error);
  const { status } = catalogue[code];
  const facts = code === "malformed_json" ? { detail: "This is no valid HTTP request." } : {};
  const body = JSON.stringify(toProblem({ code, facts }, v7()));
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status] ?? "Bad Request"}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const REASONS: Record<number, string> = { 408: "Request Timeout", 431: "Request Header Fields Too Large" };

function problemCodeOf(error: NodeJS.ErrnoException): ProblemCode {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "request_timeout";
  if (error.code === "HPE_HEADER_OVERFLOW") return "headers_too_large";
  return "malformed_json";
}
