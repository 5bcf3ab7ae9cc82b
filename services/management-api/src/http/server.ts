import { type RequestListener, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { createBoundedServer, listen } from "@herald/common/runtime/bounded-server";
import { PROBLEMS, type ProblemCode } from "@herald/contracts";
import { v7 } from "uuid";
import { toProblem } from "../problems/problem-error.ts";
import { SECURITY_HEADERS } from "./middleware.ts";

export type ApiServer = Awaited<ReturnType<typeof startServer>>;

/** How long a request's headers, and the whole of it, may take to arrive. The longest valid body is some 1.6 MB. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the keep-alive of the usual proxies (60 s), so that the proxy closes an idle connection and not this server. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

export async function startServer(
  app: RequestListener,
  {
    host,
    port,
    maxConnections,
    headersTimeoutMs = HEADERS_TIMEOUT_MS,
  }: { host: string; port: number; maxConnections?: number; headersTimeoutMs?: number },
) {
  const server = createBoundedServer(
    (request, response) => {
      // RFC 9112, 3.2: a gateway in front may have gone by the other one.
      if ((request.headersDistinct.host?.length ?? 0) > 1) return answerRefusal(response, "malformed_http");
      if (stopping) response.setHeader("Connection", "close");
      // The headers of a request that was under way when the stop began have promised to keep the connection open.
      else response.once("close", () => stopping && setImmediate(() => server.closeIdleConnections()));
      app(request, response);
    },
    { maxConnections },
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      // Slow requests are looked for each second; the default is each half minute.
      connectionsCheckingInterval: 1_000,
    },
  );
  let stopping = false;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => refuse(error, socket as Socket));
  // An `Expect` that asks for something that HTTP doesn't have. Node would answer with an empty 417.
  server.on("checkExpectation", (_request, response) => answerRefusal(response, "expectation_failed"));
  return {
    port: await listen(server, { setting: "PORT", port, host }),
    /** Takes no more connections. Resolves when every request under way has been answered, or when `end` was called. */
    close: () =>
      new Promise<void>((resolve) => {
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
  const { status, headers, body } = refusal(problemCodeOf(error));
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
}

function answerRefusal(response: ServerResponse, code: ProblemCode): void {
  const { status, headers, body } = refusal(code);
  response.writeHead(status, headers).end(body);
}

/** The body that may follow is not read, so the connection can carry no further request. */
function refusal(code: ProblemCode): { status: number; headers: Record<string, string>; body: string } {
  const requestId = v7();
  const body = JSON.stringify(toProblem({ code, facts: {} }, requestId));
  const headers = {
    "Content-Type": "application/problem+json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    "X-Request-Id": requestId,
    ...SECURITY_HEADERS,
    Connection: "close",
  };
  return { status: PROBLEMS[code].status, headers, body };
}

function problemCodeOf(error: NodeJS.ErrnoException): ProblemCode {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "request_timeout";
  if (error.code === "HPE_HEADER_OVERFLOW") return "headers_too_large";
  return "malformed_http";
}
