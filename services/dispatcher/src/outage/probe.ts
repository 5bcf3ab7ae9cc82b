import { connect, isIP } from "node:net";
import { type AddressRules, createAddressGuard, isLocalhostName } from "@herald/common/security/address-guard";
import { areNamesAnswered, createNameResolver } from "@herald/common/security/name-resolver";
import type { FailureKind } from "@herald/contracts";
import type { EgressProxy } from "../http/egress-proxy.ts";
import { failureOf } from "../http/failure.ts";
import type { HostAndPort } from "../http/target.ts";

/** The parts of the way to a receiver that can fail by themselves. */
export const LAYERS = ["names", "connections"] as const;
export type Layer = (typeof LAYERS)[number];

/** `unclear` says nothing about the network. */
export type ProbeResult = "reached" | "failed" | "unclear";

export type Probe = ReturnType<typeof createProbe>;

interface ProbeOptions {
  addresses: AddressRules;
  servers?: readonly string[] | undefined;
  proxy?: EgressProxy | undefined;
}

/** A connection takes a round trip, or two if a packet is lost. */
const CONNECT_MS = 3_000;
/** Name servers answer from their caches at once. */
const LOOKUP_MS = 1_000;
export function createProbe({ addresses, servers, proxy }: ProbeOptions) {
  // Earlier answers say nothing about now, and that to a second try says nothing about the time of the first: an outage may have ended between them.
  const resolve = createNameResolver({ servers, timeoutMs: LOOKUP_MS, tries: 1, keptMs: 0 });
  const guard = createAddressGuard(addresses, resolve);

  async function askFor(host: string): Promise<ProbeResult> {
    try {
      await resolve(host);
      return "reached";
    } catch (error) {
      return resultOf(error, "names");
    }
  }

  async function tunnelTo(target: HostAndPort, through: EgressProxy): Promise<ProbeResult> {
    try {
      (await through.open(target, guard, CONNECT_MS)).on("error", () => {}).destroy();
      return "reached";
    } catch (error) {
      return resultOf(error, "connections");
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
      socket.on("error", (error) => end(resultOf(error, "connections")));
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

/**
 * Failures in the network's way: the layer that failed, and how many other hosts must have failed too before such a failure is doubted. A receiver
 * often refuses, or is too slow, by itself; silent name servers are seldom its fault.
 */
export const IN_THE_WAY: Partial<Record<FailureKind, { layer: Layer; others: number }>> = {
  resolver_failed: { layer: "names", others: 0 },
  proxy_failed: { layer: "connections", others: 0 },
  unreachable: { layer: "connections", others: 0 },
  connection_refused: { layer: "connections", others: 2 },
  connection_timed_out: { layer: "connections", others: 2 },
  timed_out: { layer: "connections", others: 2 },
};

const resultOf = (error: unknown, layer: Layer): ProbeResult =>
  IN_THE_WAY[failureOf(error as Error, 0).kind]?.layer === layer ? "failed" : "unclear";

export function isAskedFor(host: string): boolean {
  return isIP(host) === 0 && !isLocalhostName(host);
}
