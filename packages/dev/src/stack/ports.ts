import { connect, createServer } from "node:net";

const handedOut = new Set<number>();

/**
 * A TCP port of the loopback that is free.
 *
 * @param preferred tried first, then the ports after it, so that the number stays close to the expected one where the
 *   port is taken; without it the system chooses
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined) {
    for (let port = preferred; port < preferred + 50 && port < 65_536; port += 1) {
      if (!handedOut.has(port) && (await isFree(port)) && (await handOut(port))) return port;
    }
  }
  for (;;) {
    const port = await portOfTheSystem();
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

/** Bindable, and no answer: some systems let a second listener bind beside one on all addresses. */
async function isFree(port: number): Promise<boolean> {
  return (await listen(port)) !== undefined && !(await answers(port));
}

async function portOfTheSystem(): Promise<number> {
  const port = await listen(0);
  if (port === undefined) throw new Error("This machine has no free TCP port on 127.0.0.1.");
  return port;
}

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
