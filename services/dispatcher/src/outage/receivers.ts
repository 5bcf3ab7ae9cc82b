import { setLatest } from "@herald/common/runtime/latest";
import { createTargets } from "../http/target.ts";
import type { KnownReceiver } from "../sql/read-configuration.ts";
import { isAskedFor, type Layer } from "./probe.ts";
import type { Receiver } from "./sense.ts";

/** Returns up to `count` enabled receivers, other ones at each call. Never rejects. */
export type OtherReceivers = (count: number) => Promise<KnownReceiver[]>;

/** Receivers that one round of probes asks. */
const PROBES = 5;
/** Other receivers that are looked at: for those that have not failed; for whether names are needed, if none was reached yet. */
const SAMPLE = 20;
/** Organizations whose last reached receiver is known. */
const MAX_ORGANIZATIONS = 64;

/** Knows the receivers that can show whether there is an outage: those that were reached lately, and other enabled ones. */
export function createReceivers(others: OtherReceivers) {
  const targetOf = createTargets();
  /** The last receiver of each organization that was reached, the latest at the end. */
  const reached = new Map<string, KnownReceiver>();
  let turn = 0;

  /** Undefined if its URL can't be used. */
  function receiverOf(known: KnownReceiver): Receiver | undefined {
    const target = targetOf(known.url);
    return target ? { ...known, host: target.host, port: target.port } : undefined;
  }

  /** The receivers whose attempts use a layer. A receiver with a literal address does not use the name servers. */
  const inLayer = (layer: Layer, receivers: readonly KnownReceiver[]) =>
    receivers
      .flatMap((each) => receiverOf(each) ?? [])
      .filter(({ host }) => layer === "connections" || isAskedFor(host));
  const lately = () => [...reached.values()].reverse();

  return {
    receiverOf,
    /** By an attempt, or by a probe. */
    reached(receiver: KnownReceiver): void {
      setLatest(reached, receiver.organizationId, receiver, MAX_ORGANIZATIONS);
    },
    /** Whether each of the receivers that were reached lately needs a name server. If none was reached yet, other ones are looked at. */
    async needNames(): Promise<boolean> {
      const receivers = reached.size > 0 ? lately() : await others(SAMPLE);
      return receivers.length > 0 && inLayer("names", receivers).length === receivers.length;
    },
    /**
     * The receivers to probe in a layer: those that were reached lately and have not failed since; during an outage, all in turn. If fewer than
     * {@link PROBES} are alive, other receivers too: some dead ones must not stop all the rest.
     */
    async toProbe(layer: Layer, failing: readonly Receiver[], isOutage: boolean): Promise<Receiver[]> {
      // By port too: beside a dead receiver another one of the same host may be well.
      const placeOf = ({ host, port }: Receiver) => `${host}:${port}`;
      const places = new Set(failing.map(placeOf));
      const isAlive = (receiver: Receiver) => !places.has(placeOf(receiver));
      const known = inLayer(layer, lately());
      const alive = known.filter(isAlive);
      const all = isOutage ? [...known, ...failing] : alive;
      turn += PROBES;
      const first = isOutage ? turn : 0;
      const chosen = all.map((_, index) => all[(first + index) % all.length] as Receiver).slice(0, PROBES);
      const strangers = alive.length < PROBES ? inLayer(layer, await others(SAMPLE)).filter(isAlive) : [];
      return [...chosen, ...strangers.slice(0, PROBES)];
    },
  };
}
