import { Agent, type AgentOptions } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext, rootCertificates } from "node:tls";
import type { AddressGuard } from "@herald/common/security";

export interface Connections {
  /** Keeps connections open and uses them again; shared by all endpoints. */
  reused: Agent;
  /** Opens a connection for each request, and closes it behind it. */
  fresh: Agent;
  close(): void;
}

/** Idle connections close by themselves after this, or a second before the receiver said it would close them. */
const IDLE_MS = 30_000;
const BEFORE_RECEIVER_MS = 1_000;
/** Over all endpoints. A TLS connection holds some 40 KB; what is over this gives way, the longest idle first. */
const MAX_IDLE = 1_000;
/** Resuming spares a receiver's certificate check, most of a handshake's cost. A session holds some 2 KB. */
const MAX_SESSIONS = 4_000;
/**
 * Node gives up on a name's first address after 250 ms to try the next. Half of the world's receivers are a slow round
 * trip and one lost packet away from that, and a name's last address is often IPv6 that does not work here.
 */
const NEXT_ADDRESS_AFTER_MS = 2_500;

/**
 * @param extraCa PEM certificates that are trusted besides the system's roots
 */
export function createConnections(guard: AddressGuard, extraCa: string | undefined): Connections {
  const options: AgentOptions = {
    lookup: guard.lookup,
    // One for all connections: making one parses every root certificate anew.
    secureContext: createSecureContext(
      extraCa ? { ca: [...rootCertificates, extraCa], minVersion: "TLSv1.2" } : { minVersion: "TLSv1.2" },
    ),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    ALPNProtocols: ["http/1.1"],
    maxCachedSessions: MAX_SESSIONS,
  };
  const reused = new Agent({ ...options, keepAlive: true });
  const fresh = new Agent({ ...options, keepAlive: false });
  for (const agent of [reused, fresh]) {
    admitOnly(agent, guard);
    nameByOrigin(agent);
  }
  limitIdle(reused);
  return {
    reused,
    fresh,
    close() {
      reused.destroy();
      fresh.destroy();
    },
  };
}

/** A socket looks up names only, so literal addresses are judged before there is a socket. */
function admitOnly(agent: Agent, guard: AddressGuard): void {
  const connect = agent.createConnection;
  agent.createConnection = function (options, callback) {
    const blocked = guard.checkLiteral(options.host ?? "");
    if (!blocked) return connect.call(this, options, callback);
    callback?.(blocked, undefined as never);
    return undefined;
  };
}

/** Node's own names list every TLS option, for each request anew; here these are the same for all connections. */
function nameByOrigin(agent: Agent): void {
  agent.getName = (options) => `${options?.host}:${options?.port}`;
}

/**
 * An agent's own limit on sockets counts idle ones of other hosts too, and makes requests wait for those. So this one
 * limits only the idle, and lets the one go that was used longest ago.
 */
function limitIdle(agent: Agent): void {
  const idle = new Set<Socket>();
  const reuse = agent.reuseSocket;

  agent.keepSocketAlive = (duplex) => {
    const socket = duplex as Socket & { _httpMessage?: { res?: { headers: Record<string, string | undefined> } } };
    const announced = /\btimeout=(\d{1,6})/.exec(socket._httpMessage?.res?.headers["keep-alive"] ?? "")?.[1];
    const idleMs = announced ? Math.min(IDLE_MS, Number(announced) * 1000 - BEFORE_RECEIVER_MS) : IDLE_MS;
    if (idleMs <= 0) return false;
    if (socket.timeout !== idleMs) {
      if (socket.timeout === undefined) socket.once("close", () => idle.delete(socket));
      socket.setTimeout(idleMs);
    }
    socket.unref();
    idle.add(socket);
    if (idle.size > MAX_IDLE) idle.values().next().value?.destroy();
    return true;
  };
  agent.reuseSocket = function (socket, request) {
    idle.delete(socket as Socket);
    reuse.call(this, socket, request);
  };
}
