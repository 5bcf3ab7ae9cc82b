import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { FailureKind } from "@herald/contracts";
import { isAskedFor, LAYERS, type Layer, type Probe } from "../attempt/probe.ts";
import type { AttemptResult } from "../attempt/sender.ts";
import { createTargets } from "../attempt/target.ts";
import type { DispatcherMetrics } from "../metrics.ts";
import type { KnownReceiver } from "../sql/read-configuration.ts";
import type { Standstill } from "./standstill.ts";
import { type Fault, type Receiver, type Watch, watchLayer } from "./watch.ts";

interface Parts {
  clock: Clock;
  probe: Probe;
  /** So many enabled receivers at the most, other ones each time. Never rejects. */
  others: (count: number) => Promise<KnownReceiver[]>;
  standstill: Pick<Standstill, "within">;
  metrics: Pick<DispatcherMetrics, "outage" | "givenBack">;
  log: Log;
  probeEveryMs?: number;
}

/**
 * Knows whether there is an outage of Herald's own: its name servers are dead, it has no route, its way out is closed.
 * An attempt that got no answer and overlaps an outage of Herald's own, or a standstill of this process, is no failure of its receiver.
 */
export interface Outage {
  /** Says whose fault an attempt's result is. Where that can't be told yet, it takes some seconds. Never rejects. */
  judge(delivery: KnownReceiver, result: Pick<AttemptResult, "durationMs" | "failureKind" | "reached">): Promise<Fault>;
  /** To be called whenever an outage is over. */
  onReturn(listener: () => void): void;
  isOn(): boolean;
  /** Since when; null while it is not. */
  since(): Date | null;
  /** Ends the probes. From now on, what can't be told at once is Herald's. */
  stop(): Promise<void>;
}

const PROBE_EVERY_MS = 1_000;

/** Receivers that tell whether names are needed, where none was reached yet. */
const SAMPLE = 20;

/** Organizations of which the last receiver that was reached is known. */
const MAX_ORGANIZATIONS = 64;

/**
 * Failures in the network's way, by the part of the way that failed, and with how many other hosts must fail too before such
 * a failure is doubted. A receiver often refuses, or is too slow, all by itself; that a name server says nothing is seldom
 * its fault.
 */
const IN_THE_WAY: Partial<Record<FailureKind, { layer: Layer; others: number }>> = {
  resolver_failed: { layer: "names", others: 0 },
  proxy_failed: { layer: "connections", others: 0 },
  unreachable: { layer: "connections", others: 0 },
  connection_refused: { layer: "connections", others: 2 },
  connection_timed_out: { layer: "connections", others: 2 },
  timed_out: { layer: "connections", others: 2 },
};

/**
 * Names and connections are watched apart: while the name servers are dead, receivers are still reached over connections that
 * were open before.
 */
export function createOutage({
  clock,
  probe,
  others,
  standstill,
  metrics,
  log,
  probeEveryMs = PROBE_EVERY_MS,
}: Parts): Outage {
  const stopping = new AbortController();
  const targetOf = createTargets();
  /** By organization, the last one at the end. */
  const reached = new Map<string, KnownReceiver>();
  const watches = Object.fromEntries(LAYERS.map((layer) => [layer, watch(layer)])) as Record<Layer, Watch>;
  const isOn = () => LAYERS.some((layer) => watches[layer].isOn());
  const listeners: (() => void)[] = [];
  let since: Date | null = null;
  /** When the last outage ended, by the monotonic clock. */
  let endedAtMs = Number.NEGATIVE_INFINITY;

  function watch(layer: Layer): Watch {
    const all = () => [...reached.values()].reverse().flatMap((each) => receiverOf(each) ?? []);
    const some = async (count: number) => (await others(count)).flatMap((each) => receiverOf(each) ?? []);
    const common = { layer, probe: probe.reach, clock, probeEveryMs, onChange, signal: stopping.signal };
    if (layer === "connections") {
      // That the egress proxy works says nothing about the way behind it.
      const isDead = async () => !(await probe.isWayOpen()) || undefined;
      return watchLayer({ ...common, lately: all, others: some, isDead });
    }
    const areAskedFor = (receivers: Receiver[]) => receivers.filter(({ host }) => isAskedFor(host));
    // However few the receivers are, that the name servers answer nobody is no fault of theirs. It is not looked at where a receiver
    // is reached without a name, which would wait as well. Who starts in an outage, or takes over in one, goes by any receivers.
    const needNames = async () => {
      const receivers = reached.size > 0 ? all() : await some(SAMPLE);
      return receivers.length > 0 && receivers.every(({ host }) => isAskedFor(host));
    };
    const lately = () => areAskedFor(all());
    const isDead = async () => !(await probe.areNamesAnswered()) && (await needNames());
    return watchLayer({ ...common, lately, others: async (count) => areAskedFor(await some(count)), isDead });
  }

  function receiverOf({ endpointId, organizationId, url }: KnownReceiver): Receiver | undefined {
    const target = targetOf(url);
    return target ? { endpointId, organizationId, host: target.host, port: target.port } : undefined;
  }

  function onChange(): void {
    const is = isOn();
    if (is === (since !== null)) return;
    metrics.outage.set(Number(is));
    if (is) {
      since = clock.now();
      const layers = LAYERS.filter((layer) => watches[layer].isOn());
      log.error("no receiver can be reached: deliveries wait, and no failure counts for its receiver", { layers });
    } else {
      log.warn("receivers can be reached again; deliveries go on", { since });
      since = null;
      endedAtMs = clock.monotonicMs();
      for (const listener of listeners) listener();
    }
  }

  /** An attempt of now that began then overlaps an outage: what broke it, at its begin or its end, may be Herald's. */
  const overlapsOutage = (startedMs: number) => isOn() || startedMs <= endedAtMs;

  async function faultOf(delivery: KnownReceiver, failureKind: FailureKind, startedMs: number): Promise<Fault> {
    const inTheWay = IN_THE_WAY[failureKind];
    const receiver = receiverOf(delivery);
    if (!inTheWay || !receiver) return "theirs";
    const { layer, others } = inTheWay;
    return await watches[layer].judge({ ...receiver, startedMs, endedMs: clock.monotonicMs() }, others);
  }

  return {
    async judge({ endpointId, organizationId, url }, { durationMs, failureKind, reached: hasReached }) {
      const startedMs = clock.monotonicMs() - durationMs;
      const delivery = { endpointId, organizationId, url };
      if (hasReached) {
        reached.delete(organizationId);
        reached.set(organizationId, delivery);
        if (reached.size > MAX_ORGANIZATIONS) reached.delete(reached.keys().next().value as string);
        watches.connections.reached(startedMs);
      }
      if (failureKind === null || failureKind === "http_status") return "theirs";
      const stoodStill = standstill.within(durationMs);
      const isLate = startedMs <= endedAtMs || stoodStill;
      const fault = hasReached || isLate ? "theirs" : await faultOf(delivery, failureKind, startedMs);
      if (fault === "theirs" && !stoodStill && !overlapsOutage(startedMs)) return "theirs";
      metrics.givenBack.inc();
      return "ours";
    },
    onReturn: (listener) => void listeners.push(listener),
    isOn,
    since: () => since,
    async stop() {
      stopping.abort();
      await Promise.all(LAYERS.map((layer) => watches[layer].stopped()));
    },
  };
}
