import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { isIP, type Socket } from "node:net";
import type { AddressGuard } from "@herald/common/security/address-guard";
import { NO_NAME } from "@herald/common/security/name-resolver";
import { PROXY_FAILED } from "./failure.ts";
import type { HostAndPort } from "./target.ts";

export type EgressProxy = ReturnType<typeof createEgressProxy>;

/** The proxy is close; no connection within this time means that it is down. */
const CONNECT_MS = 3_000;
const NO_RECEIVER = `${NO_NAME}:443`;

/** The one way out of a network: an HTTP proxy that makes tunnels (CONNECT, RFC 9110 9.3.6). @throws Error, which repeats no user and password */
export function createEgressProxy(text: string) {
  const url = URL.parse(text);
  if (url?.protocol !== "http:" || url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    throw new Error("must be http://host:port, or http://user:password@host:port");
  }
  const credentials = [url.username, url.password].map(unescaped).join(":");
  const authorization =
    credentials === ":" ? {} : { "Proxy-Authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
  const place = { host: url.hostname.replace(/^\[|\]$/g, ""), port: url.port === "" ? 80 : Number(url.port) };

  /** Resolves with the proxy's answer, and the connection to it. @throws Error if it answers no HTTP in time */
  function ask(authority: string, timeoutMs: number): Promise<{ statusCode: number; socket: Socket; rest: Buffer }> {
    return new Promise((resolve, reject) => {
      const headers = { Host: authority, ...authorization };
      const options = { ...place, method: "CONNECT", path: authority, headers, agent: false, timeout: 0 } as const;
      // Behind the status comes the tunnel: the form of the headers does not matter.
      const asking: ClientRequest = request({ ...options, insecureHTTPParser: true });
      const over = () => {
        clearTimeout(timer);
        clearTimeout(connecting);
      };
      const fail = () => {
        over();
        reject(proxyFailed("egress proxy did not answer"));
        asking.destroy();
      };
      const timer = setTimeout(fail, timeoutMs);
      const connecting = setTimeout(fail, CONNECT_MS);
      asking.once("socket", (socket) => socket.once("connect", () => clearTimeout(connecting)));
      asking.on("error", fail);
      asking.once("connect", ({ statusCode = 0 }: IncomingMessage, socket: Socket, rest: Buffer) => {
        over();
        resolve({ statusCode, socket, rest });
      });
      asking.end();
    });
  }

  async function tunnelTo(authority: string, timeoutMs: number): Promise<Socket> {
    const { statusCode, socket, rest } = await ask(authority, timeoutMs);
    // In TLS the client speaks first: bytes before that come from no receiver.
    if (statusCode >= 200 && statusCode < 300 && rest.length === 0) return socket;
    // Errors of later bytes are ignored.
    socket.on("error", () => {}).destroy();
    const code = { 502: "ECONNREFUSED", 503: "ECONNREFUSED", 504: "ETIMEDOUT" }[statusCode];
    if (code) throw Object.assign(new Error(`proxy: ${statusCode}`), { code });
    throw proxyFailed(`egress proxy answered ${statusCode}`);
  }

  return {
    /**
     * Opens a tunnel to a receiver. Its name is resolved and checked here, and the proxy gets the address: so the proxy can't resolve it to another.
     * The proxy has two thirds of what the look-up leaves of the attempt's time, for all addresses: so a silent proxy differs from a silent receiver.
     *
     * @throws Error with a code of `failureOf`; ECONNREFUSED or ETIMEDOUT if the proxy does not reach the receiver
     */
    async open({ host, port }: HostAndPort, guard: AddressGuard, withinMs: number): Promise<Socket> {
      const endMs = performance.now() + withinMs;
      const addresses = await judgedAddresses(host, guard);
      const untilMs = endMs - (endMs - performance.now()) / 3;
      let failed: unknown;
      for (const address of addresses) {
        const authority = isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
        try {
          return await tunnelTo(authority, Math.max(1, untilMs - performance.now()));
        } catch (error) {
          failed = error;
          // Another address helps if this one is dead, and not if the proxy is.
          if ((error as NodeJS.ErrnoException).code === PROXY_FAILED || performance.now() >= untilMs) break;
        }
      }
      throw failed;
    },
    /** Whether the proxy works, whatever receivers do: it is asked for a name that does not exist. Never rejects. */
    async works(): Promise<boolean> {
      try {
        const { statusCode, socket } = await ask(NO_RECEIVER, CONNECT_MS);
        socket.on("error", () => {}).destroy();
        return statusCode !== 407;
      } catch {
        return false;
      }
    },
  };
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Error("must have each % in its user and password followed by two hexadecimal digits: % itself is %25");
  }
}

function judgedAddresses(host: string, guard: AddressGuard): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const blocked = guard.checkLiteral(host);
    if (blocked) return reject(blocked);
    if (isIP(host) !== 0) return resolve([host]);
    guard.lookup(host, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve((addresses as { address: string }[]).map(({ address }) => address));
    });
  });
}

function proxyFailed(message: string): Error {
  return Object.assign(new Error(message), { code: PROXY_FAILED });
}
