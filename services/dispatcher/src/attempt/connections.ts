import { Agent, type AgentOptions } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import type { AddressGuard } from "@herald/common/security/address-guard";
import { nodeAuthorities } from "@herald/common/security/node-authorities";
import type { Pem, TlsFiles } from "@herald/common/security/tls-files";
import type { EgressProxy } from "./egress-proxy.ts";

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

/**
 * @param extraAuthorities are trusted besides those that Node trusts by itself
 * @param deadlineMs the time of an attempt
 * @param most how many connections may be open at once, for all endpoints together; idle ones make room for new ones
 */
export function createConnections(
  guard: AddressGuard,
  extraAuthorities: TlsFiles | undefined,
  {
    most = Number.POSITIVE_INFINITY,
    proxy,
    deadlineMs = 15_000,
  }: { most?: number | undefined; proxy?: EgressProxy | undefined; deadlineMs?: number } = {},
) {
  const options: AgentOptions = {
    lookup: guard.lookup,
    // Set explicitly, because Node's default is NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    ALPNProtocols: ["http/1.1"],
  };
  const sessions = most * SESSIONS_PER_CONNECTION;
  const reused = new Agent({ ...options, keepAlive: true, maxCachedSessions: sessions });
  const fresh = new Agent({ ...options, keepAlive: false, maxCachedSessions: 0 });
  const resumption = watchResumption(reused, sessions, trust([reused, fresh], extraAuthorities));
  for (const agent of [reused, fresh]) {
    if (proxy) connectThrough(agent, guard, proxy, deadlineMs);
    else admitOnly(agent, guard);
    nameByOrigin(agent);
  }
  keepIdle(reused, most);
  return {
    /** Keeps connections open and uses them again; shared by all endpoints. */
    reused,
    /** Opens a connection for each request, and closes it afterwards. */
    fresh,
    ...resumption,
    /** A connection has failed: perhaps since an authority is new. */
    failed(error: unknown): void {
      extraAuthorities?.failed(error);
      nodeAuthorities?.failed(error);
    },
    close(): void {
      reused.destroy();
      fresh.destroy();
    },
  };
}

/**
 * Gives each new connection the authorities that are trusted now. One context serves all connections until the file changes, since each context parses
 * every root certificate. A resumed session is not verified again, so each context has sessions of its own.
 *
 * @returns the name under which an agent keeps the session of an origin
 */
function trust(agents: readonly Agent[], extraAuthorities: TlsFiles | undefined): (origin: string) => string {
  let context: SecureContext | undefined;
  let [extra, ofNode]: (Pem | undefined)[] = [];
  let changes = 0;
  function contextNow(): SecureContext {
    const now = [extraAuthorities?.current(), nodeAuthorities?.current()] as const;
    if (context !== undefined && now[0] === extra && now[1] === ofNode) return context;
    [extra, ofNode] = now;
    const ca = extra?.ca;
    context = createSecureContext({
      minVersion: "TLSv1.2",
      ...(ca !== undefined && { ca: [...getCACertificates("default"), ca] }),
    });
    changes++;
    return context;
  }
  contextNow();
  const sessionName = (origin: string) => `${origin} ${changes}`;
  for (const agent of agents) {
    const connect = agent.createConnection;
    agent.createConnection = function (options, callback) {
      const secureContext = contextNow();
      return connect.call(
        this,
        Object.assign(options, { secureContext, _agentKey: sessionName(nameOf(options)) }),
        callback,
      );
    };
  }
  return sessionName;
}

/** Handshakes with a session that may fail before an origin is offered none. */
const MAX_RESUMPTIONS_FAILED = 2;

/**
 * Some receivers, and balancers before them, break a handshake that offers a session. Node forgets the session then, and keeps that of the next
 * handshake: each second connection would fail.
 */
function watchResumption(agent: Agent, most: number, nameOfSession: (origin: string) => string) {
  const failed = new Map<string, number>();
  const offering = new WeakSet<Socket>();
  let isOffered = false;
  // Node's agent asks for the session while it makes a connection. It is not in Node's types.
  const sessions = agent as unknown as { _getSession(name: string): Buffer | undefined };
  const sessionOf = sessions._getSession;
  sessions._getSession = function (name) {
    const isRefused = (failed.get(name) ?? 0) >= MAX_RESUMPTIONS_FAILED;
    const session = isRefused ? undefined : sessionOf.call(this, name);
    isOffered = session !== undefined;
    return session;
  };
  const connect = agent.createConnection;
  agent.createConnection = function (options, callback) {
    isOffered = false;
    const socket = connect.call(this, options, callback) as Socket;
    if (isOffered) offering.add(socket);
    return socket;
  };
  return {
    /** Whether the handshake of this connection offered to resume a session. */
    offersSession: (socket: Socket) => offering.has(socket),
    /** A handshake that offered a session has failed. From the second one on, the origin is offered none. */
    resumptionFailed(origin: { host: string; port: number }): void {
      const name = nameOfSession(nameOf(origin));
      failed.set(name, (failed.get(name) ?? 0) + 1);
      if (failed.size > most) failed.delete(failed.keys().next().value as string);
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

function nameOf({ host, port }: { host?: unknown; port?: unknown }): string {
  return `${host}:${port}`;
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
  const announced = /\btimeout=(\d{1,6})/.exec(socket._httpMessage?.res?.headers["keep-alive"] ?? "")?.[1];
  return announced ? Math.min(IDLE_MS, Number(announced) * 1000 - BEFORE_RECEIVER_MS) : IDLE_MS;
}
