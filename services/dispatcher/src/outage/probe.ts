import { connect, isIP } from "node:net";
import { type AddressRules, createAddressGuard, isLocalhostName } from "@herald/common/security/address-guard";
import { areNamesAnswered, createNameResolver } from "@herald/common/security/name-resolver";
import type { EgressProxy } from "../http/egress-proxy.ts";
import { failureOf } from "../http/failure.ts";
import type { HostAndPort } from "../http/target.ts";

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
/** An answer to a second question would say nothing about the time of the first: an outage that ends between them would be blamed on receivers. */
const TRIES = 1;

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

  async function tunnelTo(target: HostAndPort, through: EgressProxy): Promise<ProbeResult> {
    try {
      (await through.open(target, guard, CONNECT_MS)).on("error", () => {}).destroy();
      return "reached";
    } catch (error) {
      return isInTheWay(error as Error);
    }
  }

  function connectTo({ host, port }: HostAndPort): Promise<ProbeResult> {
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

  return {
    /** Tries one part of the way to a receiver: asks for its name, or opens a connection and closes it. Sends it nothing. Never rejects. */
    reach(layer: Layer, target: HostAndPort): Promise<ProbeResult> {
      if (layer === "names") return askFor(target.host);
      return proxy ? tunnelTo(target, proxy) : connectTo(target);
    },
    areNamesAnswered: () => areNamesAnswered(servers),
    /** Whether the egress proxy works; true without one. Never rejects. */
    isWayOpen: async () => (await proxy?.works()) ?? true,
  };
}

const IN_THE_WAY: readonly string[] = ["proxy_failed", "unreachable", "connection_refused", "connection_timed_out"];

/** Whether name servers are asked for this host. */
export function isAskedFor(host: string): boolean {
  return isIP(host) === 0 && !isLocalhostName(host);
}
