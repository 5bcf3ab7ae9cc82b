import { Agent, type AgentOptions } from "node:https";
import type { Socket } from "node:net";
import { within } from "@herald/common/runtime/repeat";
import type { AddressGuard } from "@herald/common/security/address-guard";
import { nodeAuthorities } from "@herald/common/security/node-authorities";
import type { TlsFiles } from "@herald/common/security/tls-files";
import type { EgressProxy } from "./egress-proxy.ts";
import { beginHandshakes, nameOf } from "./handshakes.ts";

export type Connections = ReturnType<typeof createConnections>;

/** Idle connections close by themselves after this time, or a second before the receiver said it would close them. */
const IDLE_MS = 30_000;
const BEFORE_RECEIVER_MS = 1_000;
/**
 * TLS sessions that are kept for each connection that may be open, one for each host and port; each holds 1 to 2 KB. To resume one takes a third of
 * the CPU time of a full handshake. If more hosts take turns, each session is dropped before its host comes again.
 */
const SESSIONS_PER_CONNECTION = 8;
/**
 * Node gives up on a name's first address after 250 ms to try the next. A receiver on a slow path that loses one packet takes longer than that, and a
 * name's last address is often IPv6 that does not work here.
 */
const NEXT_ADDRESS_AFTER_MS = 2_500;

/** The connections of all endpoints. At most `most` are open at once: idle ones make room for new ones. */
export function createConnections(
  guard: AddressGuard,
  extraAuthorities: TlsFiles | undefined,
  options: { most?: number | undefined; proxy?: EgressProxy | undefined; deadlineMs?: number } = {},
) {
  const { most = Number.POSITIVE_INFINITY, proxy, deadlineMs = 15_000 } = options;
  const always: AgentOptions = {
    lookup: guard.lookup,
    // Set explicitly, because Node's default is NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    ALPNProtocols: ["http/1.1"],
  };
  const once: AgentOptions = { ...always, keepAlive: false, maxCachedSessions: 0 };
  const reused = new Agent({ ...always, keepAlive: true, maxCachedSessions: most * SESSIONS_PER_CONNECTION });
  const agents = { reused, fresh: new Agent(once), small: new Agent(once) };
  const handshakes = beginHandshakes(agents, extraAuthorities);
  for (const agent of Object.values(agents)) {
    if (proxy) connectThrough(agent, guard, proxy, deadlineMs);
    else admitOnly(agent, guard);
    nameByOrigin(agent);
  }
  keepIdle(reused, most);
  return {
    /** Keeps connections open and uses them again; shared by all endpoints. */
    reused,
    /** Opens a connection for each request, and closes it afterwards. */
    fresh: agents.fresh,
    ...handshakes,
    /** A connection has failed, judged by the authorities `trusted`: perhaps one is new. @returns whether others are trusted by now, by their files */
    async failed(error: unknown, trusted: number, timeoutMs: number): Promise<boolean> {
      const looks = Promise.all([extraAuthorities?.failed(error), nodeAuthorities?.failed(error)]);
      const canMend = await within(timeoutMs, looks, [true]);
      return canMend.includes(true) && handshakes.trusted() !== trusted;
    },
    close(): void {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** A socket looks up names only, so literal addresses are checked before there is a socket. */
function admitOnly(agent: Agent, guard: AddressGuard): void {
  const connect = agent.createConnection;
  agent.createConnection = function (options, callback) {
    const blocked = guard.checkLiteral(options.host ?? "");
    // Node calls back only through a proxy of its own, but keeps what it is given as long as the connection: the first request, its body and its answer.
    if (!blocked) return connect.call(this, options);
    callback?.(blocked, undefined as never);
    return undefined;
  };
}

/** TLS is end to end with the receiver: the proxy carries bytes that it can't read. */
function connectThrough(agent: Agent, guard: AddressGuard, proxy: EgressProxy, deadlineMs: number): void {
  const connect = agent.createConnection;
  agent.createConnection = function (options, callback) {
    const target = { host: options.host ?? "", port: Number(options.port) };
    proxy.open(target, guard, deadlineMs).then(
      (tunnel) => {
        const socket = connect.call(this, { ...options, socket: tunnel } as typeof options) as Socket;
        callback?.(null, socket);
        sayConnected(socket);
      },
      (error) => callback?.(error, undefined as never),
    );
    return undefined;
  };
}

/**
 * A TLS socket over an open tunnel never emits `connect`; emit it here, since callers wait for it: by then a receiver was reached. Data that is
 * written meanwhile waits for this.
 */
function sayConnected(socket: Socket): void {
  Object.assign(socket, { connecting: true });
  setImmediate(() => {
    Object.assign(socket, { connecting: false });
    if (!socket.destroyed) socket.emit("connect");
  });
}

/** Node's own names list every TLS option, for each request again; here these are the same for all connections. */
function nameByOrigin(agent: Agent): void {
  agent.getName = (options) => nameOf(options ?? {});
}

/**
 * Keeps idle connections for a time. Where a new connection is one too many, the one that is idle longest is closed. An agent's own limit would make
 * the request wait instead.
 */
function keepIdle(agent: Agent, most: number): void {
  const open = new Set<Socket>();
  /** In the order in which they became idle. */
  const idle = new Set<Socket>();
  const { createConnection: connect, reuseSocket: reuse } = agent;

  // A socket that is destroyed closes in a later turn of the event loop: until then it must not be counted, or chosen again.
  function isGone(socket: Socket): void {
    open.delete(socket);
    idle.delete(socket);
  }
  function isOpen(socket: Socket): void {
    open.add(socket);
    socket.once("close", () => isGone(socket));
    const [longest] = idle;
    if (open.size <= most || !longest) return;
    isGone(longest);
    longest.destroy();
  }

  agent.createConnection = function (options, callback) {
    const socket = connect.call(this, options, (error, later) => {
      if (later) isOpen(later as Socket);
      callback?.(error, later);
    });
    if (socket) isOpen(socket as Socket);
    return socket;
  };
  agent.keepSocketAlive = (duplex) => {
    const socket = duplex as IdleSocket;
    const idleMs = idleMsOf(socket);
    if (idleMs <= 0) return false;
    // The timer runs on while a request is in flight: a socket that times out then is not idle, and Node leaves it alone.
    if (socket.timeout !== idleMs) socket.setTimeout(idleMs);
    socket.unref();
    idle.add(socket);
    return true;
  };
  agent.reuseSocket = function (socket, request) {
    idle.delete(socket as Socket);
    reuse.call(this, socket, request);
  };
}

/** Node keeps the request on its socket, and reads the same header from there itself. */
type IdleSocket = Socket & { _httpMessage?: { res?: { headers: Record<string, string | undefined> } } };

function idleMsOf(socket: IdleSocket): number {
  const announced = /\btimeout\s*=\s*"?(\d{1,6})/i.exec(socket._httpMessage?.res?.headers["keep-alive"] ?? "")?.[1];
  return announced ? Math.min(IDLE_MS, Number(announced) * 1000 - BEFORE_RECEIVER_MS) : IDLE_MS;
}
