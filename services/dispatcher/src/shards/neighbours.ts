import { readFileSync, readlinkSync } from "node:fs";
import { connect, createServer } from "node:net";
import { hostname } from "node:os";

/**
 * What a dispatcher tells of itself to the others of its machine or pod: that it lives. By PostgreSQL alone, one that is started again after a crash
 * would wait for six seconds for its predecessor, which may only be slow.
 */
export interface Presence {
  /** Where it runs. Who has the same place can ask {@link isAlive}. Null where the system can't say it. */
  readonly place: string | null;
  close(): void;
}

/**
 * Listens on an abstract socket: it has no file, belongs to a network namespace, and is gone in the moment in which its process ends, however that
 * ends. A process that is frozen keeps it.
 */
export async function openPresence(id: string): Promise<Presence> {
  const place = placeOf();
  const server = createServer((socket) => socket.destroy());
  const isListening = await new Promise<boolean>((resolve) => {
    if (place === null) return resolve(false);
    server.once("error", () => resolve(false));
    server.listen(addressOf(id), () => resolve(true));
  });
  server.unref();
  return { place: isListening ? place : null, close: () => void server.close() };
}

/** Whether a dispatcher that had the same place still runs. */
export function isAlive(id: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(addressOf(id));
    const answer = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", () => answer(true));
    // Whatever else may be wrong: only where nobody listens has it ended for sure.
    socket.once("error", ({ code }: NodeJS.ErrnoException) => answer(code !== "ECONNREFUSED"));
  });
}

const addressOf = (id: string) => `\0herald-dispatcher-${id}`;

/** A network namespace of a machine since it was started. */
function placeOf(): string | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${hostname()} ${boot} ${readlinkSync("/proc/self/ns/net")}`;
  } catch {
    return null;
  }
}
