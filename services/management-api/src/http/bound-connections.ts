import type { Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Bounds a server's connections: without a limit, the process would run out of open files. A new connection beyond `most` closes the
 * oldest idle connection of the address that has the most connections. So a client can't shut others out with idle connections, and a proxy,
 * through which all clients have the same address, loses only idle ones. Where every connection of that address has a request under way,
 * the new connection is closed.
 */
export function boundConnections(server: Server, most: number): void {
  const byAddress = new Map<string, Set<Socket>>();
  const requests = new Map<Socket, number>();
  let count = 0;

  function forget(socket: Socket, address: string): void {
    const sockets = byAddress.get(address);
    if (!sockets?.delete(socket)) return;
    if (sockets.size === 0) byAddress.delete(address);
    count--;
  }

  /** The oldest idle connection of the address that has the most. */
  function dispensable(): { socket: Socket; address: string } | undefined {
    let largest: { address: string; sockets: Set<Socket> } | undefined;
    for (const [address, sockets] of byAddress) {
      if (largest === undefined || sockets.size > largest.sockets.size) largest = { address, sockets };
    }
    if (largest === undefined) return undefined;
    const { address, sockets } = largest;
    for (const socket of sockets) if (!requests.has(socket)) return { socket, address };
    return undefined;
  }

  server.on("connection", (socket) => {
    const address = socket.remoteAddress ?? "";
    if (count >= most) {
      const idle = dispensable();
      if (idle === undefined) {
        socket.destroy();
        return;
      }
      idle.socket.destroy();
      forget(idle.socket, idle.address);
    }
    byAddress.set(address, (byAddress.get(address) ?? new Set()).add(socket));
    count++;
    socket.once("close", () => forget(socket, address));
  });
  server.on("request", ({ socket }, response) => {
    requests.set(socket, (requests.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const left = (requests.get(socket) ?? 1) - 1;
      if (left > 0) requests.set(socket, left);
      else requests.delete(socket);
    });
  });
}
