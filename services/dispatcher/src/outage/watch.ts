import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "@herald/common/runtime/clock";
import type { Layer, Probe, ProbeResult } from "../attempt/probe.ts";

/** An endpoint, and where its URL leads. */
export interface Receiver {
  endpointId: string;
  organizationId: string;
  host: string;
  port: number;
}

/** An attempt, or a probe, that ended without reaching anybody. Times are of the monotonic clock. */
export interface Unreached extends Receiver {
  startedMs: number;
  endedMs: number;
}

/** So many hosts, of so many organizations: fewer may be one provider's, or one customer's, bad minute. */
export const MIN_HOSTS = 5;
export const MIN_ORGANIZATIONS = 3;
/** Failures that lie further apart have nothing to do with each other. During an outage, none is forgotten. */
export const WINDOW_MS = 10_000;
/** More than enough to tell. */
const MAX_FAILING = 1_000;

/**
 * Tells whether there is an outage, by what attempts and probes saw. No I/O and no timers: what it tells follows from what
 * went in.
 *
 * There is an outage when attempts to many unrelated endpoints failed in the network's way, and no attempt that began since
 * then reached anybody. Then it is Herald that is ill, and none of these receivers.
 */
export function createOutageSense() {
  /** By endpoint, in the order in which they were told. */
  const failing = new Map<string, Unreached>();
  let reachedMs = Number.NEGATIVE_INFINITY;

  /** Whether an attempt that began when this one did, or later, reached somebody. */
  const isContradicted = ({ startedMs }: Unreached) => startedMs <= reachedMs;

  function isOn(): boolean {
    const hosts = new Set<string>();
    const organizations = new Set<string>();
    for (const { host, organizationId } of failing.values()) {
      hosts.add(host);
      organizations.add(organizationId);
      if (hosts.size >= MIN_HOSTS && organizations.size >= MIN_ORGANIZATIONS) return true;
    }
    return false;
  }

  function forget(isOver: (unreached: Unreached) => boolean): void {
    for (const [endpointId, unreached] of failing) if (isOver(unreached)) failing.delete(endpointId);
  }

  return {
    failed(unreached: Unreached): void {
      if (isContradicted(unreached)) return;
      if (!isOn()) forget(({ endedMs }) => endedMs <= unreached.endedMs - WINDOW_MS);
      failing.delete(unreached.endpointId);
      failing.set(unreached.endpointId, unreached);
      if (failing.size > MAX_FAILING) failing.delete(failing.keys().next().value as string);
    },
    /** An attempt that began then reached somebody: what failed of attempts that began earlier is the receivers' own. */
    reached(startedMs: number): void {
      if (startedMs <= reachedMs) return;
      reachedMs = startedMs;
      forget(isContradicted);
    },
    isContradicted,
    isOn,
    /** The failures that nothing has contradicted, the latest of each endpoint. */
    failing: () => [...failing.values()],
  };
}

export interface WatchOptions {
  layer: Layer;
  probe: Probe["reach"];
  /** Whether this part of the way is dead for all receivers, if that can be told without asking for one; undefined if it can't. */
  isDead: () => Promise<boolean | undefined>;
  clock: Clock;
  /** Pause between two rounds of probes. */
  probeEveryMs: number;
  /** Receivers that were reached lately, the last one first, of as many organizations as there are. */
  lately: () => Receiver[];
  /** Some enabled receivers, other ones each time: whoever starts in an outage, or on a quiet night, knows none lately. Never rejects. */
  others: (count: number) => Promise<Receiver[]>;
  /** An outage of this layer begins or ends. */
  onChange: () => void;
  /** Ends the probes. */
  signal: AbortSignal;
}

/** Whose fault a result is. What is Herald's own is neither recorded nor counted, and the delivery is due again. */
export type Fault = "theirs" | "ours";

/** Watches one part of the way to all receivers. */
export interface Watch {
  /**
   * Says whose fault it is that a receiver was not reached. Where that can't be told yet, it takes some seconds.
   *
   * @param others judged as the receiver's own, where after a moment fewer other hosts than this have failed as well
   */
  judge(unreached: Unreached, others: number): Promise<Fault>;
  /** An attempt that began then reached a receiver. */
  reached(startedMs: number): void;
  isOn(): boolean;
  /** Resolves when the last probe has ended. */
  stopped(): Promise<void>;
}

/** A result that waits for its verdict. */
interface Undecided {
  unreached: Unreached;
  others: number;
  roundsLeft: number;
  tell: (fault: Fault) => void;
}

/** Receivers that one round of probes asks. */
const PROBES = 5;
/** A result waits for so many rounds, since look-ups of one moment fail seconds apart. */
const ROUNDS = 3;

/**
 * A result waits until it is known whose fault it is. Meanwhile receivers that were reached lately are probed. If one of
 * them can be reached now, the failures are their receivers' own. Those that can't count as failures too: so Herald learns
 * of an outage also at night, when there is little to deliver, and does not blame five receivers of one provider.
 */
export function watchLayer(options: WatchOptions): Watch {
  const { layer, probe, isDead, clock, probeEveryMs, lately, others, onChange, signal } = options;
  const sense = createOutageSense();
  const undecided = new Set<Undecided>();
  let outage = false;
  let turn = 0;
  let examining: Promise<void> | undefined;

  signal.addEventListener("abort", () => {
    // What is not known now goes back: another dispatcher finds it out.
    for (const { tell } of undecided) tell("ours");
  });

  function decideLater(unreached: Unreached, others: number): Promise<Fault> {
    return new Promise((resolve) => {
      const one: Undecided = {
        unreached,
        others,
        roundsLeft: ROUNDS,
        tell(fault) {
          undecided.delete(one);
          resolve(fault);
        },
      };
      undecided.add(one);
      start();
    });
  }

  function start(): void {
    examining ??= examine().finally(() => {
      examining = undefined;
      if (undecided.size > 0) start();
    });
  }

  /** Probes, round after round, until all is decided and there is no outage. */
  async function examine(): Promise<void> {
    while (!signal.aborted && (undecided.size > 0 || outage)) {
      // What the same fault fails is heard of by then, or an attempt that began later has reached somebody, and nothing is to be probed.
      await sleep(probeEveryMs, undefined, { signal }).catch(() => {});
      for (const one of undecided) if (!isDoubted(one)) one.tell("theirs");
      if (signal.aborted || (undecided.size === 0 && !outage)) return;
      const startedMs = clock.monotonicMs();
      const [dead, ...results] = await Promise.all([isDead(), ...(await candidates()).map(probeOne)]);
      if (signal.aborted) return;
      // The way works, and no probe failed in it: the receivers that failed before are gone, and would keep the outage for ever.
      if (outage && dead === false && !results.includes("failed")) sense.reached(startedMs);
      // What failed since these probes began is for the next round to tell.
      const isNow = (dead || sense.isOn()) && !results.includes("reached");
      if (isNow !== outage) {
        outage = isNow;
        onChange();
      }
      for (const one of undecided) {
        if (outage) one.tell("ours");
        else if (--one.roundsLeft === 0) one.tell("theirs");
      }
    }
  }

  function isDoubted({ unreached, others }: Undecided): boolean {
    const hosts = new Set(sense.failing().map(({ host }) => host));
    hosts.delete(unreached.host);
    return hosts.size >= others;
  }

  /**
   * Those that were reached lately and have not failed since; during an outage, all in turn. Where these are few, others
   * too: five receivers that are dead while nothing else is due must not stop all the rest.
   */
  async function candidates(): Promise<Receiver[]> {
    const failing = sense.failing();
    // By port too: beside a dead one another receiver of the same host may be well.
    const placeOf = ({ host, port }: Receiver) => `${host}:${port}`;
    const dead = new Set(failing.map(placeOf));
    const isAlive = (receiver: Receiver) => !dead.has(placeOf(receiver));
    const reachedLately = lately();
    const known = outage ? [...reachedLately, ...failing] : reachedLately.filter(isAlive);
    if (outage) turn += PROBES;
    const chosen = Array.from(
      { length: Math.min(PROBES, known.length) },
      (_, index) => known[(turn + index) % known.length] as Receiver,
    );
    const strangers = reachedLately.filter(isAlive).length < PROBES ? await others(PROBES) : [];
    return [...chosen, ...strangers.filter(isAlive)];
  }

  async function probeOne(receiver: Receiver): Promise<ProbeResult> {
    const { endpointId, organizationId, host, port } = receiver;
    const startedMs = clock.monotonicMs();
    const result = await probe(layer, receiver);
    if (result === "reached") reached(startedMs);
    if (result === "failed") {
      sense.failed({ endpointId, organizationId, host, port, startedMs, endedMs: clock.monotonicMs() });
    }
    return result;
  }

  function reached(startedMs: number): void {
    sense.reached(startedMs);
    for (const { unreached, tell } of undecided) if (sense.isContradicted(unreached)) tell("theirs");
  }

  return {
    async judge(unreached, others) {
      sense.failed(unreached);
      if (sense.isContradicted(unreached)) return "theirs";
      return outage || signal.aborted ? "ours" : await decideLater(unreached, others);
    },
    reached,
    isOn: () => outage,
    async stopped() {
      await examining;
    },
  };
}
