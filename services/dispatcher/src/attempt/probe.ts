import { Resolver } from "node:dns/promises";
import { connect, isIP } from "node:net";
import { type AddressRules, createAddressGuard, isLocalhostName } from "@herald/common/security/address-guard";
import { createNameResolver } from "@herald/common/security/name-resolver";
import type { EgressProxy } from "./egress-proxy.ts";
import { failureOf } from "./failure.ts";
import type { Target } from "./target.ts";

/** The parts of the way to a receiver that can fail by themselves. */
export const LAYERS = ["names", "connections"] as const;
export type Layer = (typeof LAYERS)[number];

/** `unclear` says nothing about the network. */
export type ProbeResult = "reached" | "failed" | "unclear";

export type Probe = ReturnType<typeof createProbe>;

export interface ProbeOptions {
  addresses: AddressRules;
  /** The name servers, as `createNameResolver` takes them. */
  servers?: readonly string[] | undefined;
  proxy?: EgressProxy | undefined;
}

/** A connection takes a round trip, or two if a packet is lost. */
const CONNECT_MS = 3_000;
/** Name servers answer from their caches at once. */
const LOOKUP_MS = 1_000;
/**
 * A look-up of a probe is not repeated. An answer to a second question would say nothing about the time of the first one: an outage that ends between
 * the two would be blamed on the receivers.
 */
const TRIES = 1;
/** RFC 6761: name servers say at once that there is no such name. */
const NO_RECEIVER = "herald.invalid";
/** The codes of c-ares if no server has answered, or none is there. Every other error is an answer. */
const UNANSWERED = ["ETIMEOUT", "ECONNREFUSED"];

export function createProbe({ addresses, servers, proxy }: ProbeOptions) {
  // Earlier answers say nothing about now.
  const resolve = createNameResolver({ servers, timeoutMs: LOOKUP_MS, tries: TRIES, keptMs: 0 });
  const guard = createAddressGuard(addresses, resolve);

  async function askFor(host: string): Promise<ProbeResult> {
    try {
      await resolve(host);
      return "reached";
    } catch (error) {
      return failureOf(error as Error, 0).kind === "resolver_failed" ? "failed" : "unclear";
    }
  }

  const isInTheWay = (error: Error): ProbeResult =>
    IN_THE_WAY.includes(failureOf(error, 0).kind) ? "failed" : "unclear";

  async function tunnelTo(target: Pick<Target, "host" | "port">, through: EgressProxy): Promise<ProbeResult> {
    try {
      (await through.open(target, guard, CONNECT_MS)).on("error", () => {}).destroy();
      return "reached";
    } catch (error) {
      return isInTheWay(error as Error);
    }
  }

  function connectTo({ host, port }: Pick<Target, "host" | "port">): Promise<ProbeResult> {
    return new Promise((settle) => {
      if (guard.checkLiteral(host)) return settle("unclear");
      const socket = connect({ host, port, lookup: guard.lookup, autoSelectFamily: true });
      const end = (result: ProbeResult) => {
        settle(result);
        socket.destroy();
      };
      socket.setTimeout(CONNECT_MS, () => end("failed"));
      socket.once("connect", () => end("reached"));
      socket.on("error", (error) => end(isInTheWay(error)));
    });
  }

  /**
   * Whether the name servers answer at all, even if they can't resolve. They are asked for a name that does not exist, so a fault in a receiver's own
   * name has no part in it. Never rejects.
   */
  async function areNamesAnswered(): Promise<boolean> {
    // The system's settings are read again each time: an outage may end by a change of them.
    const resolver = new Resolver({ timeout: LOOKUP_MS, tries: TRIES });
    if (servers) resolver.setServers(servers);
    try {
      await resolver.resolve4(NO_RECEIVER);
      return true;
    } catch (error) {
      return !UNANSWERED.includes((error as NodeJS.ErrnoException).code ?? "");
    }
  }

  return {
    /**
     * Tries one part of the way to a receiver: asks the name servers for its name, or opens a connection and closes it. Nothing is sent to the
     * receiver. Never rejects.
     */
    reach(layer: Layer, target: Pick<Target, "host" | "port">): Promise<ProbeResult> {
      if (layer === "names") return askFor(target.host);
      return proxy ? tunnelTo(target, proxy) : connectTo(target);
    },
    areNamesAnswered,
    /** Whether the egress proxy works; true without one. Never rejects. */
    isWayOpen: async () => (await proxy?.works()) ?? true,
  };
}

const IN_THE_WAY: readonly string[] = ["proxy_failed", "unreachable", "connection_refused", "connection_timed_out"];

/** Whether name servers are asked for this host. */
export function isAskedFor(host: string): boolean {
  return isIP(host) === 0 && !isLocalhostName(host);
}
