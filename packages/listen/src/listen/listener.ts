import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { oneLine } from "../arguments.ts";
import { describeRequest } from "./describe-request.ts";
import { type Forwarded, type ForwardOptions, forward, refusalOf } from "./forward.ts";
import { type ReceivedRequest, type ReceiveOptions, receiveRequest } from "./received-request.ts";

export interface ListenerOptions extends ReceiveOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** PEM; without it the listener speaks plain HTTP. */
  tls?: { cert: string; key: string };
  /** The status for requests that verify; 204 if absent. Others get 401. */
  status?: number;
  /** A program that gets the requests that verify and gives the answer, in place of `status`. */
  forward?: ForwardOptions;
  print: (text: string) => void;
  colour?: boolean;
}

export interface Listener {
  url: string;
  close(): Promise<void>;
}

/** Starts a server that prints each request and whether it verifies. Rejects if the port cannot be had. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { host, port, tls, print } = options;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const received = await receiveRequest(request, options);
      const answer = await answerTo(received, options);
      const length = answer.body.byteLength > 0 ? ["Content-Length", String(answer.body.byteLength)] : [];
      response.writeHead(answer.status, [...answer.headers, ...length]).end(answer.body);
      print(
        describeRequest(received, { ...options, answer: answer.answer, ...(options.forward && { answered: answer }) }),
      );
    } catch (error) {
      print(`a sender hung up in the middle of its request (${oneLine((error as Error).message)})`);
      response.destroy();
    }
  };
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  const { address, port: bound, family } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://${family === "IPv6" ? `[${address}]` : address}:${bound}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A body that is too large is not kept, so it is not forwarded either. */
async function answerTo(received: ReceivedRequest, options: ListenerOptions): Promise<Forwarded> {
  const { verdict } = received;
  const tooLarge = !verdict.ok && verdict.reason === "body_too_large";
  if (options.forward && !tooLarge) {
    const refusal = refusalOf(received);
    return refusal === null ? forward(received, options.forward) : ownAnswer(verdict.ok ? 405 : 401, refusal);
  }
  if (verdict.ok) return ownAnswer(options.status ?? 204, "");
  return ownAnswer(tooLarge ? 413 : 401, `${verdict.reason}: ${verdict.message}`);
}

function ownAnswer(status: number, text: string): Forwarded {
  return { status, headers: [], body: Buffer.from(text && `${text}\n`), answer: String(status) };
}
