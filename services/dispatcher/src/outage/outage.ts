import { setTimeout as sleep } from "node:timers/promises";
import { atMostEach } from "@herald/common/runtime/repeat";
import type { FailureKind } from "@herald/contracts";
import type { Basics } from "../basics.ts";
import type { KnownReceiver } from "../sql/read-configuration.ts";
import type { AttemptResult } from "../sql/rows.ts";
import { watchClocks } from "./clocks.ts";
import { IN_THE_WAY, LAYERS, type Layer, type Probe, type ProbeResult } from "./probe.ts";
import { createReceivers, type OtherReceivers } from "./receivers.ts";
import { createOutageSense, type Fault, type Receiver } from "./sense.ts";
import type { Standstill } from "./standstill.ts";

interface Parts extends Basics {
  probe: Probe;
  others: OtherReceivers;
  standstill: Standstill;
  probeEveryMs?: number;
}

export type Outage = ReturnType<typeof createOutage>;

const PROBE_EVERY_MS = 1_000;
const LOG_EVERY_MS = 60_000;
/** So many attempts of a delivery may end in a standstill and count for nothing. A machine that swaps may stand still in each, and each is sent. */
const MAX_STANDSTILLS = 2;

/**
 * Knows whether there is an outage of Herald's own: its name servers are dead, it has no route, its egress proxy is closed. An attempt without an
 * answer that overlaps one, or a standstill of this process, is no failure of its receiver. Names and connections are two layers: while the name
 * servers are dead, receivers are still reached over open connections.
 *
 * A doubtful result waits while receivers that were reached lately are probed in its layer. If a probe reaches one, the earlier failures are the
 * fault of their receivers. If it fails, it counts as one more failure. So Herald notices its own outage also at night, when there are few
 * deliveries, and five failed receivers of one provider are not taken for an outage of Herald.
 */
export function createOutage(parts: Parts) {
  const { clock, probe, others, standstill, metrics, log, probeEveryMs = PROBE_EVERY_MS } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const receivers = createReceivers(others);
  const senses = { names: createOutageSense(), connections: createOutageSense() };
  const dead = new Set<Layer>();
  const clocks = watchClocks(parts);
  const listeners: (() => void)[] = [];
  let since: Date | null = null;
  /** When the last outage ended, by the monotonic clock. */
  let endedAtMs = Number.NEGATIVE_INFINITY;
  let examining: Promise<void> | undefined;

  const logExhausted = atMostEach(LOG_EVERY_MS, async () =>
    log.error("this machine has no file descriptor or memory left for a connection: deliveries wait", {}),
  );
  const isOn = () => dead.size > 0;
  const isUndecided = () => LAYERS.some((layer) => senses[layer].isUndecided());

  /** Whether a layer is dead for all receivers; undefined if only receivers can show it. */
  async function isDead(layer: Layer): Promise<boolean | undefined> {
    // A working egress proxy says nothing about the way behind it.
    if (layer === "connections") return (await probe.isWayOpen()) ? undefined : true;
    if (await probe.areNamesAnswered()) return false;
    // The name servers do not answer at all, so failed look-ups are not the receivers' fault. The layer is dead only if each of the known receivers
    // needs a name: a receiver with a literal address can still be reached, and an outage would stop its deliveries too.
    return await receivers.needNames();
  }

  function examineSoon(): void {
    examining ??= examine().finally(() => {
      examining = undefined;
      if (isUndecided()) examineSoon();
    });
  }

  /** Probes, round after round, until all results are decided and there is no outage. */
  async function examine(): Promise<void> {
    while (!signal.aborted && (isUndecided() || isOn())) {
      // Other attempts may decide a result before the probe does: they fail too, or one reaches a receiver. A result that is no longer doubted needs no probe.
      await sleep(probeEveryMs, undefined, { signal }).catch(() => {});
      for (const layer of LAYERS) senses[layer].decideUndoubted();
      const layers = LAYERS.filter((layer) => dead.has(layer) || senses[layer].isUndecided());
      if (!signal.aborted) await Promise.all(layers.map(probeLayer));
    }
  }

  async function probeLayer(layer: Layer): Promise<void> {
    const sense = senses[layer];
    const startedMs = clock.monotonicMs();
    const [isDeadForAll, ...results] = await Promise.all([
      isDead(layer),
      ...(await receivers.toProbe(layer, sense.failing(), dead.has(layer))).map((receiver) =>
        probeOne(layer, receiver),
      ),
    ]);
    if (signal.aborted) return;
    // The layer works, and no probe failed in it: the receivers that failed before are gone, and would keep the outage for ever.
    if (dead.has(layer) && isDeadForAll === false && !results.includes("failed")) sense.reached(startedMs);
    // Failures since these probes began are decided by the next round.
    const isNow = (isDeadForAll || sense.isOn()) && !results.includes("reached");
    if (isNow) dead.add(layer);
    else dead.delete(layer);
    changed();
    sense.round(isNow);
  }

  async function probeOne(layer: Layer, receiver: Receiver): Promise<ProbeResult> {
    const startedMs = clock.monotonicMs();
    const result = await probe.reach(layer, receiver);
    if (result === "reached") {
      receivers.reached(receiver);
      senses[layer].reached(startedMs);
      // At once: probes of dead receivers may take seconds more.
      dead.delete(layer);
      if (!signal.aborted) changed();
    }
    if (result === "failed") senses[layer].failed({ ...receiver, startedMs, endedMs: clock.monotonicMs() });
    return result;
  }

  function changed(): void {
    if (isOn() === (since !== null)) return;
    metrics.outage.set(Number(isOn()));
    if (isOn()) {
      since = clock.now();
      const layers = [...dead];
      log.error("no receiver can be reached: deliveries wait, and no failure counts for its receiver", { layers });
    } else {
      log.warn("receivers can be reached again; deliveries go on", { since });
      since = null;
      endedAtMs = clock.monotonicMs();
      for (const listener of listeners) listener();
    }
  }

  async function faultOf(known: KnownReceiver, failureKind: FailureKind, startedMs: number): Promise<Fault> {
    const inTheWay = IN_THE_WAY[failureKind];
    const receiver = receivers.receiverOf(known);
    if (!inTheWay || !receiver) return "theirs";
    const { layer, others } = inTheWay;
    const unreached = { ...receiver, startedMs, endedMs: clock.monotonicMs() };
    const sense = senses[layer];
    sense.failed(unreached);
    if (sense.isContradicted(unreached)) return "theirs";
    if (dead.has(layer) || signal.aborted) return "ours";
    const verdict = sense.verdict(unreached, others);
    examineSoon();
    return await verdict;
  }

  return {
    /** Decides whose fault an attempt's result is. It takes some seconds if that is not known yet. Never rejects. */
    async judge(
      receiver: KnownReceiver,
      result: Partial<AttemptResult> & { durationMs: number; failureKind: FailureKind | null; reached: boolean },
      delivery: { standstills?: number } = {},
    ): Promise<Fault | "a clock's"> {
      const { durationMs, failureKind, reached: hasReached, ownFault } = result;
      const startedMs = clock.monotonicMs() - durationMs;
      if (hasReached) {
        receivers.reached(receiver);
        senses.connections.reached(startedMs);
      }
      if (failureKind === null) return "theirs";
      if (clocks.areToBlame(receivers.receiverOf(receiver), result)) {
        metrics.givenBack.inc();
        return "a clock's";
      }
      if (failureKind === "http_status") return "theirs";
      if (ownFault === "machine") void logExhausted();
      const { standstills = 0 } = delivery;
      const hasStoodStill = standstill.within(durationMs) && standstills < MAX_STANDSTILLS;
      if (hasStoodStill) delivery.standstills = standstills + 1;
      const isDisturbed = ownFault === "machine" || hasStoodStill || startedMs <= endedAtMs;
      const isDecided = isDisturbed || (!hasReached && (await faultOf(receiver, failureKind, startedMs)) === "ours");
      // Name servers that were silent during the look-up may answer by now: then there is no outage, and there was one.
      const isOurs = isDecided || ownFault === "name servers";
      // An outage may have begun, or ended, while the result was undecided.
      if (!isOurs && !isOn() && startedMs > endedAtMs) return "theirs";
      metrics.givenBack.inc();
      return "ours";
    },
    onReturn: (listener: () => void) => void listeners.push(listener),
    isOn,
    since: () => since,
    /** Ends the probes. From now on, undecided results are Herald's fault. */
    async stop() {
      stopping.abort();
      for (const layer of LAYERS) senses[layer].giveUp();
      await examining;
    },
  };
}
