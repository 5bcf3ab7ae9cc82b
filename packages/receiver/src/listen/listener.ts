import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describeRequest } from "./describe-request.ts";
import { type ReceiveOptions, receiveRequest } from "./received-request.ts";

export interface ListenerOptions extends ReceiveOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** PEM; without it the listener speaks plain HTTP. */
  tls?: { cert: string; key: string };
  /** The answer to what verifies; 204 where absent. What does not verify gets 401. */
  status?: number;
  print: (text: string) => void;
  colour?: boolean;
}

export interface Listener {
  url: string;
  close(): Promise<void>;
}

/** Starts a server that prints each request and whether it verifies. Rejects where the port cannot be had. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { host, port, tls, status = 204, print } = options;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const received = await receiveRequest(request, options);
      const { verdict } = received;
      response.statusCode = verdict.ok ? status : verdict.reason === "body_too_large" ? 413 : 401;
      response.end(verdict.ok ? undefined : `${verdict.reason}: ${verdict.message}\n`);
      print(describeRequest(received, { ...options, answer: String(response.statusCode) }));
    } catch (error) {
      print(`a sender hung up in the middle of its request (${(error as Error).message})`);
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
