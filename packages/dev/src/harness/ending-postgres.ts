import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** Says "ready", and in the same packet that an administrator ends the connection. */
const READY_AND_ENDED = Buffer.concat([
  message("R", Buffer.alloc(4)),
  message("Z", Buffer.from("I")),
  message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0")),
]);

function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(4 + body.length);
  return Buffer.concat([Buffer.from(type), length, body]);
}

/**
 * Answers as a busy process reads a PostgreSQL that is being stopped: an answer and the end of the connection at once. A real server can't be
 * made to do so at a given moment, so this one speaks as much of the protocol as that takes.
 */
export async function startEndingPostgres(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(READY_AND_ENDED));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `postgresql://test@127.0.0.1:${(server.address() as AddressInfo).port}/test`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
