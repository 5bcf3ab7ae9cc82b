import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { ConfigError } from "../config/read-config.ts";

/** Requests of one connection that may be under way. Browsers and proxies have one; Node would begin each of a thousand that come together. */
const MOST_PIPELINED = 16;

/** A connection is closed if its client takes no byte of the answer for this time. A client that reads slowly keeps its connection. */
const STALL_MS = 60_000;

/** Why this machine lets no server listen, by Node's code. */
const REFUSED: Readonly<Record<string, (at: { setting: string; port: number; host: string }) => string>> = {
  EADDRINUSE: ({ setting, port }) =>
    `${setting} is ${port}, where another program listens. End that one, or choose another port.`,
  EACCES: ({ setting, port }) => `${setting} is ${port}, where this user may not listen. Choose a port from 1024 on.`,
  EADDRNOTAVAIL: ({ host }) => `HTTP_HOST is ${host}, which is no address of this machine.`,
  ENOTFOUND: ({ host }) => `HTTP_HOST is ${host}, a name that is not known here.`,
};

/** Has a server listen, and returns its port. @throws ConfigError if the port or the address can't be used */
export async function listen(server: Server, at: { setting: string; port: number; host: string }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const words = REFUSED[error.code ?? ""];
      reject(words ? new ConfigError([words(at)]) : error);
    });
    server.listen(at.port, at.host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

export interface Bounds {
  /** Open connections. Without a limit, the process would run out of open files. */
  maxConnections?: number | undefined;
  stallMs?: number;
}

/**
 * A server whose clients can't take its memory or its connections from others. A connection with more than {@link MOST_PIPELINED} requests
 * under way is closed, and so is one whose client reads nothing of its answer for a minute.
 *
 * A new connection beyond `maxConnections` closes one of the address that has the most: the oldest that is idle, else the oldest whose client
 * does not read its answer. So a client can't shut others out, and a proxy, through which all clients have the same address, loses no
 * request that is at work. If all connections of that address are at work, the new one is closed.
 */
export function createBoundedServer(
  listener: RequestListener,
  { maxConnections = Number.POSITIVE_INFINITY, stallMs = STALL_MS }: Bounds = {},
  options: ServerOptions = {},
): Server {
  const byAddress = new Map<string, Set<Socket>>();
  const underWay = new WeakMap<Socket, number>();
  let count = 0;

  const server = createServer(options, (request, response) => {
    const { socket } = request;
    const requests = (underWay.get(socket) ?? 0) + 1;
    underWay.set(socket, requests);
    // Requests that were parsed together with these still come after the connection has been closed.
    if (requests > MOST_PIPELINED) {
      socket.destroy();
      return;
    }
    response.once("close", () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1));
    listener(request, response);
  });
  server.timeout = stallMs;

  function forget(socket: Socket, address: string): void {
    const sockets = byAddress.get(address);
    if (!sockets?.delete(socket)) return;
    if (sockets.size === 0) byAddress.delete(address);
    count--;
  }

  /** Closes a connection that can be spared, and says whether there was one. */
  function makeRoom(): boolean {
    const [address, sockets] = [...byAddress].reduce((most, each) => (each[1].size > most[1].size ? each : most));
    const all = [...sockets];
    const spared = all.find((socket) => !underWay.get(socket)) ?? all.find(({ writableLength }) => writableLength > 0);
    if (spared === undefined) return false;
    spared.destroy();
    forget(spared, address);
    return true;
  }

  server.on("connection", (socket) => {
    if (count >= maxConnections && !makeRoom()) {
      socket.destroy();
      return;
    }
    const address = socket.remoteAddress ?? "";
    byAddress.set(address, (byAddress.get(address) ?? new Set()).add(socket));
    count++;
    socket.once("close", () => forget(socket, address));
  });
  return server;
}
