import { connect, createServer } from "node:net";

const handedOut = new Set<number>();

/** A free TCP port of the loopback: `preferred`, or one soon after it, which people find again; without it the system chooses. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined) {
    for (let port = preferred; port < preferred + 50 && port < 65_536; port += 1) {
      // Some systems let a second listener bind beside one on all addresses: so nothing may answer there either.
      const isFree = !handedOut.has(port) && (await listen(port)) !== undefined && !(await answers(port));
      if (isFree && (await handOut(port))) return port;
    }
  }
  for (;;) {
    const port = await listen(0);
    if (port === undefined) throw new Error("This machine has no free TCP port on 127.0.0.1.");
    if (!handedOut.has(port) && (await handOut(port))) return port;
  }
}

/**
 * Between finding a port and listening on it another search may run, also in another checkout: it must not find the same one. So this process holds
 * an abstract socket of the port's name until it ends. Only Linux has these: on other systems each process knows its own ports alone.
 */
function handOut(port: number): Promise<boolean> {
  handedOut.add(port);
  return new Promise((resolve) => {
    if (process.platform !== "linux") return resolve(true);
    const holder = createServer().unref();
    holder.once("error", () => resolve(false));
    holder.listen(`\0herald-port-${port}`, () => resolve(true));
  });
}

/** The port, if it can be listened on; of 0, one that the system chooses. */
function listen(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? address?.port : undefined));
    });
  });
}

/** Whether something accepts connections at the port. */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => finish(false));
    socket.once("connect", () => finish(true));
    socket.once("error", () => finish(false));
  });
}
