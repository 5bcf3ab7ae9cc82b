import { connect, isIP } from "node:net";
import { createAddressGuard, isLocalhostName } from "@herald/common/security/address-guard";
import type { AddressRules } from "@herald/common/security/address-rules";
import { createNameResolver } from "@herald/common/security/name-resolver";
import { failureOf } from "./failure.ts";
import type { Target } from "./target.ts";

/** The parts of the way to a receiver that can fail by themselves. */
export const LAYERS = ["names", "connections"] as const;
export type Layer = (typeof LAYERS)[number];

/** `unclear` says nothing about the network. */
export type ProbeResult = "reached" | "failed" | "unclear";

/**
 * Tries one part of the way to a receiver: asks the name servers for its name, or opens a connection and closes it. Nothing
 * is sent to the receiver. Never rejects.
 */
export type Probe = (layer: Layer, target: Pick<Target, "host" | "port">) => Promise<ProbeResult>;

export interface ProbeOptions {
  addresses: AddressRules;
  /** As the name resolver takes them. */
  servers?: readonly string[] | undefined;
}

/** A connection takes a round trip, or two where a packet is lost. */
const CONNECT_MS = 3_000;
/** c-ares asks twice, and gives up after three times this. */
const LOOKUP_MS = 1_000;

export function createProbe({ addresses, servers }: ProbeOptions): Probe {
  // What was known before says nothing about now.
  const resolve = createNameResolver({ servers, timeoutMs: LOOKUP_MS, keptMs: 0 });
  const guard = createAddressGuard(addresses, resolve);

  async function askFor(host: string): Promise<ProbeResult> {
    try {
      await resolve(host);
      return "reached";
    } catch (error) {
      return failureOf(error as Error, 0).kind === "resolver_failed" ? "failed" : "unclear";
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
      socket.on("error", (error) => end(IN_THE_WAY.includes(failureOf(error, 0).kind) ? "failed" : "unclear"));
    });
  }

  return (layer, target) => (layer === "names" ? askFor(target.host) : connectTo(target));
}

const IN_THE_WAY: readonly string[] = ["unreachable", "connection_refused", "connection_timed_out"];

/** Whether name servers are asked for this host. */
export function isAskedFor(host: string): boolean {
  return isIP(host) === 0 && !isLocalhostName(host);
}
