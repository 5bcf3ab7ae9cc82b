import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy in front of a server, which a test can disturb. */
export interface Link {
  port: number;
  /** Breaks every connection; both sides notice, and may connect again at once. */
  cut(): void;
  /** Lets nothing pass, on old connections and on new ones, until `release`. */
  stall(): void;
  release(): void;
  /**
   * Closes one side of every connection and keeps the other open: its bytes are dropped, and it is told nothing, until it
   * gives up or the link is closed. New connections work as before.
   */
  silence(gone: "server" | "client"): void;
  close(): Promise<void>;
}

interface Pair {
  client: Socket;
  server: Socket;
}

/**
 * Listens on a free port of the loopback and passes everything on.
 *
 * @param targets asked for each connection, since servers may move: the first one that answers gets it, as from a load
 * balancer that knows who is there
 */
export async function startLink(targets: () => readonly URL[]): Promise<Link> {
  const pairs = new Set<Pair>();
  const forgotten = new Set<Socket>();
  let stalled = false;

  const listener = createServer({ noDelay: true }, (client) => {
    client.on("error", () => undefined);
    void connectToFirst(targets()).then((server) => {
      if (server === undefined || client.destroyed) {
        client.destroy();
        server?.destroy();
      } else join({ client, server });
    });
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");

  function join(pair: Pair): void {
    const { client, server } = pair;
    pairs.add(pair);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on("close", () => {
        // A silenced pair is no longer in the set: its sides end separately.
        if (pairs.delete(pair)) other.destroy();
      });
      socket.on("data", (bytes) => {
        if (pairs.has(pair) && !other.write(bytes)) socket.pause();
      });
      other.on("drain", () => {
        if (!stalled) socket.resume();
      });
    }
    if (stalled) pause(pair);
  }

  function pause({ client, server }: Pair): void {
    client.pause();
    server.pause();
  }

  function cut(): void {
    for (const { client, server } of pairs) {
      client.destroy();
      server.destroy();
    }
  }

  return {
    port: (listener.address() as AddressInfo).port,
    cut,
    stall() {
      stalled = true;
      for (const pair of pairs) pause(pair);
    },
    release() {
      stalled = false;
      for (const { client, server } of pairs) {
        client.resume();
        server.resume();
      }
    },
    silence(gone) {
      for (const pair of [...pairs]) {
        pairs.delete(pair);
        const [dead, alive] = gone === "server" ? [pair.server, pair.client] : [pair.client, pair.server];
        dead.destroy();
        alive.resume();
        forgotten.add(alive);
        alive.once("close", () => forgotten.delete(alive));
      }
    },
    async close() {
      cut();
      for (const socket of forgotten) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}

async function connectToFirst(targets: readonly URL[]): Promise<Socket | undefined> {
  for (const { hostname, port } of targets) {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.on("error", () => undefined);
    const connected = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "close").then(() => false),
    ]).catch(() => false);
    if (connected) return socket;
    socket.destroy();
  }
  return undefined;
}
