import { setLatest } from "@herald/common/runtime/latest";
import type { HostAndPort } from "../http/target.ts";
import type { KnownReceiver } from "../sql/read-configuration.ts";

export type Receiver = KnownReceiver & HostAndPort;

/** An attempt, or a probe, that reached no receiver. Times are of the monotonic clock. */
export type Unreached = Receiver & { startedMs: number; endedMs: number };

/** Whose fault a result is. Herald's own is neither recorded nor counted, and the delivery is due again. */
export type Fault = "theirs" | "ours";

/** A result that waits until it is known whose fault it is. */
interface Undecided {
  unreached: Unreached;
  /** How many other hosts must fail too while it waits; else it is its receiver's fault. */
  others: number;
  roundsLeft: number;
  resolve: (fault: Fault) => void;
}

/** An outage takes this many hosts, of this many organizations: fewer may be one provider's, or one customer's, bad minute. */
export const MIN_HOSTS = 5;
export const MIN_ORGANIZATIONS = 3;
/** Failures that lie further apart have nothing to do with each other. During an outage, none is forgotten. */
export const WINDOW_MS = 10_000;
/** More than enough to decide. */
const MAX_FAILING = 1_000;
/** Look-ups that start together time out seconds apart, so a result waits three rounds. */
const ROUNDS = 3;

/**
 * Senses an outage of one layer, and decides whose fault each failure in it is. There is an outage if attempts to many unrelated endpoints failed in the
 * network's way, and no attempt that began since then reached a receiver. It has no I/O and no timers.
 */
export function createOutageSense() {
  /** By endpoint, the latest failure last. */
  const failing = new Map<string, Unreached>();
  const undecided = new Set<Undecided>();
  let reachedMs = Number.NEGATIVE_INFINITY;

  /** Whether an attempt that began at the same time or later reached a receiver. */
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

  function decide(verdictOn: (one: Undecided) => Fault | undefined): void {
    for (const one of undecided) {
      const fault = verdictOn(one);
      if (fault === undefined) continue;
      undecided.delete(one);
      one.resolve(fault);
    }
  }

  function isDoubted({ unreached, others }: Undecided): boolean {
    const hosts = new Set([...failing.values()].map(({ host }) => host));
    hosts.delete(unreached.host);
    return hosts.size >= others;
  }

  return {
    failed(unreached: Unreached): void {
      if (isContradicted(unreached)) return;
      if (!isOn()) forget(({ endedMs }) => endedMs <= unreached.endedMs - WINDOW_MS);
      setLatest(failing, unreached.endpointId, unreached, MAX_FAILING);
    },
    /** An attempt that began then reached a receiver: failures of attempts that began earlier are their receivers' own. */
    reached(startedMs: number): void {
      if (startedMs <= reachedMs) return;
      reachedMs = startedMs;
      forget(isContradicted);
      decide(({ unreached }) => (isContradicted(unreached) ? "theirs" : undefined));
    },
    isContradicted,
    isOn,
    /** The failures that nothing has contradicted, the latest one of each endpoint. */
    failing: () => [...failing.values()],
    isUndecided: () => undecided.size > 0,
    verdict: (unreached: Unreached, others: number) =>
      new Promise<Fault>((resolve) => void undecided.add({ unreached, others, roundsLeft: ROUNDS, resolve })),
    /** Decides the results that too few others confirm. */
    decideUndoubted: () => decide((one) => (isDoubted(one) ? undefined : "theirs")),
    /** A round of probes has ended, with an outage or without one. */
    round: (isOutage: boolean) => decide((one) => (isOutage ? "ours" : --one.roundsLeft === 0 ? "theirs" : undefined)),
    /** Another dispatcher decides the results. */
    giveUp: () => decide(() => "ours"),
  };
}
