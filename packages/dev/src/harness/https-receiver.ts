import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { KeyPair } from "../certificates/authority.ts";
import { certificates } from "./certificates.ts";
import { eventually } from "./eventually.ts";

export interface ReceivedRequest {
  method: string;
  path: string;
  /** Names in lower case, as Node joins them. */
  headers: IncomingHttpHeaders;
  /** Names and values by turns, as they came. */
  rawHeaders: string[];
  body: Buffer;
  receivedAt: Date;
  /** Counts this receiver's TCP connections from 1: equal numbers mean a kept-alive connection. */
  connection: number;
}

export type Answer =
  | {
      /** 200 by default. */
      status?: number;
      headers?: OutgoingHttpHeaders;
      body?: string | Buffer;
      /** How long to wait before answering. */
      delayMs?: number;
    }
  /** Takes the request and never answers. */
  | { fault: "hang" }
  /** Cuts the connection with a TCP reset. */
  | { fault: "reset" };

/** One answer for all, or a choice by the request and its number (from 0). */
export type AnswerScript = Answer | ((request: ReceivedRequest, index: number) => Answer | Promise<Answer>);

export type HttpsReceiver = Awaited<ReturnType<typeof httpsReceiver>>;

/**
 * A real HTTPS server on the loopback that records what it gets and answers as it is set to. Close it in `afterEach` or `afterAll`. `certificates()` has
 * good and bad ones; the trusted by default. Of the hosts in the URL, the server listens on ::1 for "[::1]", and else on 127.0.0.1.
 */
export async function httpsReceiver({
  certificate,
  host = "127.0.0.1",
}: {
  certificate?: KeyPair;
  host?: "127.0.0.1" | "localhost" | "[::1]";
} = {}) {
  const { cert, key } = certificate ?? (await certificates()).trusted;
  const requests: ReceivedRequest[] = [];
  const sockets = new Map<number, { raw: Socket; number: number }>();
  const open = new Set<Socket>();
  let script: AnswerScript = {};
  let connections = 0;

  const server = createServer({ cert, key }, (request, response) => {
    const socket = sockets.get(request.socket.remotePort ?? 0);
    handle(request, response, socket).catch(() => socket?.raw.destroy());
  });
  const handle = async (
    request: IncomingMessage,
    response: ServerResponse,
    socket: { raw: Socket; number: number } | undefined,
  ) => {
    const received = await record(request, socket?.number ?? 0);
    const index = requests.push(received) - 1;
    const answer = typeof script === "function" ? await script(received, index) : script;
    await give(answer, response, () => socket?.raw.resetAndDestroy());
  };
  server.on("connection", (raw: Socket) => {
    connections += 1;
    open.add(raw);
    sockets.set(raw.remotePort ?? 0, { raw, number: connections });
    raw.on("error", () => {});
    raw.once("close", () => open.delete(raw));
  });
  // A sender that refuses the certificate is a case under test, not a failure of the receiver.
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host === "[::1]" ? "::1" : "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    url: `https://${host}:${port}`,
    port,
    /** In the order of their arrival, when their body was complete. */
    requests,
    /** TCP connections that were opened so far, handshakes that failed included. */
    get connections() {
      return connections;
    },
    /** Changes how requests from now on are answered; 200 until then. */
    answerWith: (next: AnswerScript) => {
      script = next;
    },
    /** Resolves with all requests when there are at least `count`. */
    received: (count: number, timeoutMs?: number) =>
      eventually(
        () => {
          if (requests.length < count) throw new Error(`The receiver has ${requests.length} of ${count} requests.`);
          return requests;
        },
        { ...(timeoutMs !== undefined && { timeoutMs }), intervalMs: 5 },
      ),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const raw of open) raw.destroy();
      }),
  };
}

async function record(request: IncomingMessage, connection: number): Promise<ReceivedRequest> {
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    body: await buffer(request),
    receivedAt: new Date(),
    connection,
  };
}

async function give(answer: Answer, response: ServerResponse, reset: () => void): Promise<void> {
  if ("fault" in answer) {
    if (answer.fault === "reset") reset();
    return;
  }
  if (answer.delayMs !== undefined) await sleep(answer.delayMs, undefined, { ref: false });
  response.writeHead(answer.status ?? 200, answer.headers);
  response.end(answer.body);
}
