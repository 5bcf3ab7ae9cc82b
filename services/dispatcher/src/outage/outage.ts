import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "@herald/common/runtime/clock";
import { atMostEach } from "@herald/common/runtime/repeat";
import type { Log } from "@herald/common/telemetry/log";
import type { FailureKind } from "@herald/contracts";
import { isAskedFor, LAYERS, type Layer, type Probe, type ProbeResult } from "../attempt/probe.ts";
import type { AttemptResult } from "../attempt/sender.ts";
import { createTargets } from "../attempt/target.ts";
import type { DispatcherMetrics } from "../metrics.ts";
import type { KnownReceiver } from "../sql/read-configuration.ts";
import { createOutageSense, type Receiver, type Unreached } from "./sense.ts";
import type { Standstill } from "./standstill.ts";

interface Parts {
  clock: Clock;
  probe: Probe;
  /** Returns up to `count` enabled receivers, other ones at each call. Never rejects. */
  others: (count: number) => Promise<KnownReceiver[]>;
  standstill: Pick<Standstill, "within">;
  metrics: Pick<DispatcherMetrics, "outage" | "givenBack">;
  log: Log;
  /** Pause between two rounds of probes. */
  probeEveryMs?: number;
}

/** Whose fault a result is. Herald's own is neither recorded nor counted, and the delivery is due again. */
export type Fault = "theirs" | "ours";

export type Outage = ReturnType<typeof createOutage>;

const PROBE_EVERY_MS = 1_000;
/** Receivers that one round of probes asks. */
const PROBES = 5;
/** Look-ups that start together time out seconds apart, so a result waits three rounds. */
const ROUNDS = 3;
/** Receivers that show whether names are needed, if none was reached yet. */
const SAMPLE = 20;
const LOG_EVERY_MS = 60_000;
/** Organizations whose last reached receiver is known. */
const MAX_ORGANIZATIONS = 64;

/**
 * Failures in the network's way: the layer that failed, and how many other hosts must have failed too before such a failure is doubted. A receiver
 * often refuses, or is too slow, by itself; silent name servers are seldom its fault.
 */
const IN_THE_WAY: Partial<Record<FailureKind, { layer: Layer; others: number }>> = {
  resolver_failed: { layer: "names", others: 0 },
  proxy_failed: { layer: "connections", others: 0 },
  unreachable: { layer: "connections", others: 0 },
  connection_refused: { layer: "connections", others: 2 },
  connection_timed_out: { layer: "connections", others: 2 },
  timed_out: { layer: "connections", others: 2 },
};

/** A result that waits for its verdict. */
interface Undecided {
  layer: Layer;
  unreached: Unreached;
  others: number;
  roundsLeft: number;
  resolve: (fault: Fault) => void;
}

/**
 * Knows whether there is an outage of Herald's own: its name servers are dead, it has no route, its egress proxy is closed. An attempt without an
 * answer that overlaps an outage of Herald's own, or a standstill of this process, is no failure of its receiver.
 *
 * Names and connections are two layers: while the name servers are dead, receivers are still reached over open connections.
 *
 * A doubtful result waits while receivers that were reached lately are probed in its layer. If a probe reaches a receiver, the earlier failures are
 * the fault of their receivers. If a probe fails, it counts as one more failure. So Herald notices its own outage also at night, when there are few
 * deliveries, and five failed receivers of one provider are not taken for an outage of Herald.
 */
export function createOutage(parts: Parts) {
  const { clock, probe, others, standstill, metrics, log, probeEveryMs = PROBE_EVERY_MS } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const targetOf = createTargets();
  const senses = { names: createOutageSense(), connections: createOutageSense() };
  /** The layers in which there is an outage. */
  const dead = new Set<Layer>();
  const undecided = new Set<Undecided>();
  /** The last receiver of each organization that was reached, the latest at the end. */
  const reached = new Map<string, KnownReceiver>();
  const listeners: (() => void)[] = [];
  let since: Date | null = null;
  /** When the last outage ended, by the monotonic clock. */
  let endedAtMs = Number.NEGATIVE_INFINITY;
  let turn = 0;
  let examining: Promise<void> | undefined;

  const logExhausted = atMostEach(LOG_EVERY_MS, async () =>
    log.error("this machine has no file descriptor or memory left for a connection: deliveries wait", {}),
  );
  const isOn = () => dead.size > 0;

  function receiverOf({ endpointId, organizationId, url }: KnownReceiver): Receiver | undefined {
    const target = targetOf(url);
    return target ? { endpointId, organizationId, host: target.host, port: target.port } : undefined;
  }

  /** The receivers whose attempts use a layer. A receiver with a literal address does not use the name servers. */
  const inLayer = (layer: Layer, receivers: readonly KnownReceiver[]) =>
    receivers
      .flatMap((each) => receiverOf(each) ?? [])
      .filter(({ host }) => layer === "connections" || isAskedFor(host));
  const lately = () => [...reached.values()].reverse();

  /** Whether a layer is dead for all receivers; undefined if only receivers can show it. */
  async function isDead(layer: Layer): Promise<boolean | undefined> {
    // A working egress proxy says nothing about the way behind it.
    if (layer === "connections") return (await probe.isWayOpen()) ? undefined : true;
    if (await probe.areNamesAnswered()) return false;
    // The name servers do not answer at all, so failed look-ups are not the receivers' fault. The layer is dead only if each of the known receivers
    // needs a name: a receiver with a literal address can still be reached, and an outage would stop its deliveries too. If this dispatcher has
    // reached no receiver yet, it looks at other enabled receivers.
    const receivers = reached.size > 0 ? lately() : await others(SAMPLE);
    return receivers.length > 0 && inLayer("names", receivers).length === receivers.length;
  }

  function tell(one: Undecided, fault: Fault): void {
    undecided.delete(one);
    one.resolve(fault);
  }

  function reachedIn(layer: Layer, startedMs: number): void {
    senses[layer].reached(startedMs);
    for (const one of undecided) {
      if (one.layer === layer && senses[layer].isContradicted(one.unreached)) tell(one, "theirs");
    }
  }

  function isDoubted({ layer, unreached, others }: Undecided): boolean {
    const hosts = new Set(senses[layer].failing().map(({ host }) => host));
    hosts.delete(unreached.host);
    return hosts.size >= others;
  }

  function examineSoon(): void {
    examining ??= examine().finally(() => {
      examining = undefined;
      if (undecided.size > 0) examineSoon();
    });
  }

  /** Probes, round after round, until all results are decided and there is no outage. */
  async function examine(): Promise<void> {
    while (!signal.aborted && (undecided.size > 0 || isOn())) {
      // Other attempts may decide a result meanwhile: they fail too, or one reaches a receiver. A result that is no longer doubted needs no probe.
      await sleep(probeEveryMs, undefined, { signal }).catch(() => {});
      for (const one of undecided) if (!isDoubted(one)) tell(one, "theirs");
      const layers = LAYERS.filter((layer) => dead.has(layer) || [...undecided].some((one) => one.layer === layer));
      if (!signal.aborted) await Promise.all(layers.map(probeLayer));
    }
  }

  async function probeLayer(layer: Layer): Promise<void> {
    const sense = senses[layer];
    const startedMs = clock.monotonicMs();
    const [isDeadForAll, ...results] = await Promise.all([
      isDead(layer),
      ...(await candidates(layer)).map((receiver) => probeOne(layer, receiver)),
    ]);
    if (signal.aborted) return;
    // The layer works, and no probe failed in it: the receivers that failed before are gone, and would keep the outage for ever.
    if (dead.has(layer) && isDeadForAll === false && !results.includes("failed")) sense.reached(startedMs);
    // Failures since these probes began are decided by the next round.
    const isNow = (isDeadForAll || sense.isOn()) && !results.includes("reached");
    if (isNow) dead.add(layer);
    else dead.delete(layer);
    changed();
    for (const one of undecided) {
      if (one.layer !== layer) continue;
      if (isNow) tell(one, "ours");
      else if (--one.roundsLeft === 0) tell(one, "theirs");
    }
  }

  /**
   * The receivers that were reached lately and have not failed since; during an outage, all in turn. If fewer than {@link PROBES} are alive,
   * other receivers too: some dead ones must not stop all the rest.
   */
  async function candidates(layer: Layer): Promise<Receiver[]> {
    const failing = senses[layer].failing();
    // By port too: beside a dead receiver another one of the same host may be well.
    const placeOf = ({ host, port }: Receiver) => `${host}:${port}`;
    const places = new Set(failing.map(placeOf));
    const isAlive = (receiver: Receiver) => !places.has(placeOf(receiver));
    const known = inLayer(layer, lately());
    const alive = known.filter(isAlive);
    const all = dead.has(layer) ? [...known, ...failing] : alive;
    turn += PROBES;
    const first = dead.has(layer) ? turn : 0;
    const chosen = all.map((_, index) => all[(first + index) % all.length] as Receiver).slice(0, PROBES);
    const strangers = alive.length < PROBES ? inLayer(layer, await others(PROBES)) : [];
    return [...chosen, ...strangers.filter(isAlive)];
  }

  async function probeOne(layer: Layer, receiver: Receiver): Promise<ProbeResult> {
    const startedMs = clock.monotonicMs();
    const result = await probe.reach(layer, receiver);
    if (result === "reached") reachedIn(layer, startedMs);
    if (result === "failed") senses[layer].failed({ ...receiver, startedMs, endedMs: clock.monotonicMs() });
    return result;
  }

  function changed(): void {
    if (isOn() === (since !== null)) return;
    metrics.outage.set(Number(isOn()));
    if (isOn()) {
      since = clock.now();
      log.error("no receiver can be reached: deliveries wait, and no failure counts for its receiver", {
        layers: [...dead],
      });
    } else {
      log.warn("receivers can be reached again; deliveries go on", { since });
      since = null;
      endedAtMs = clock.monotonicMs();
      for (const listener of listeners) listener();
    }
  }

  async function faultOf(delivery: KnownReceiver, failureKind: FailureKind, startedMs: number): Promise<Fault> {
    const inTheWay = IN_THE_WAY[failureKind];
    const receiver = receiverOf(delivery);
    if (!inTheWay || !receiver) return "theirs";
    const { layer, others } = inTheWay;
    const unreached = { ...receiver, startedMs, endedMs: clock.monotonicMs() };
    senses[layer].failed(unreached);
    if (senses[layer].isContradicted(unreached)) return "theirs";
    if (dead.has(layer) || signal.aborted) return "ours";
    return await new Promise((resolve) => {
      undecided.add({ layer, unreached, others, roundsLeft: ROUNDS, resolve });
      examineSoon();
    });
  }

  return {
    /** Decides whose fault an attempt's result is. It takes some seconds if that is not known yet. Never rejects. */
    async judge(
      { endpointId, organizationId, url }: KnownReceiver,
      result: Pick<AttemptResult, "durationMs" | "failureKind" | "reached" | "ownFault">,
    ): Promise<Fault> {
      const { durationMs, failureKind, reached: hasReached, ownFault } = result;
      const startedMs = clock.monotonicMs() - durationMs;
      const delivery = { endpointId, organizationId, url };
      if (hasReached) {
        reached.delete(organizationId);
        reached.set(organizationId, delivery);
        if (reached.size > MAX_ORGANIZATIONS) reached.delete(reached.keys().next().value as string);
        reachedIn("connections", startedMs);
      }
      if (failureKind === null || failureKind === "http_status") return "theirs";
      if (ownFault === "machine") void logExhausted();
      const isDisturbed = ownFault === "machine" || standstill.within(durationMs) || startedMs <= endedAtMs;
      const isDecided = isDisturbed || (!hasReached && (await faultOf(delivery, failureKind, startedMs)) === "ours");
      // Name servers that were silent during the look-up may answer by now: then there is no outage, and there was one.
      const isOurs = isDecided || ownFault === "name servers";
      // An outage may have begun, or ended, while the result was undecided.
      if (!isOurs && !isOn() && startedMs > endedAtMs) return "theirs";
      metrics.givenBack.inc();
      return "ours";
    },
    /** The listener is called at the end of each outage. */
    onReturn: (listener: () => void) => void listeners.push(listener),
    isOn,
    /** When the outage began; null if there is none. */
    since: () => since,
    /** Ends the probes. From now on, undecided results are Herald's fault. */
    async stop() {
      stopping.abort();
      // Another dispatcher decides them.
      for (const one of undecided) tell(one, "ours");
      await examining;
    },
  };
}
