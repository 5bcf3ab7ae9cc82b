import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer } from "node:tls";
import type { KeyPair } from "@herald/dev/certificates/authority";

/** A broker's address that speaks TLS, in front of one that does not. */
export interface TlsFront {
  url: string;
  close(): Promise<void>;
}

/** Listens on a free port of the loopback. The certificate has to be for localhost. */
export async function startTlsFront(brokerUrl: string, certificate: KeyPair): Promise<TlsFront> {
  const broker = new URL(brokerUrl);
  const sockets = new Set<Socket>();
  const server = createServer(certificate, (client) => {
    const upstream = connect(Number(broker.port), broker.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  // Clients that do not trust the certificate end the handshake.
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(brokerUrl.replace("amqp:", "amqps:"));
  url.host = `localhost:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
