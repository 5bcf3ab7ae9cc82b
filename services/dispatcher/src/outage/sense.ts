import type { KnownReceiver } from "../sql/read-configuration.ts";

/** A receiver, with the host and port of its URL. */
export interface Receiver extends KnownReceiver {
  host: string;
  port: number;
}

/** An attempt, or a probe, that reached no receiver. Times are of the monotonic clock. */
export interface Unreached extends Receiver {
  startedMs: number;
  endedMs: number;
}

/** An outage takes this many hosts, of this many organizations: fewer may be one provider's, or one customer's, bad minute. */
export const MIN_HOSTS = 5;
export const MIN_ORGANIZATIONS = 3;
/** Failures that lie further apart have nothing to do with each other. During an outage, none is forgotten. */
export const WINDOW_MS = 10_000;
/** More than enough to decide. */
const MAX_FAILING = 1_000;

export type OutageSense = ReturnType<typeof createOutageSense>;

/**
 * There is an outage if attempts to many unrelated endpoints failed in the network's way, and no attempt that began since then reached a receiver.
 * It has no I/O and no timers.
 */
export function createOutageSense() {
  /** By endpoint, the latest failure last. */
  const failing = new Map<string, Unreached>();
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

  return {
    failed(unreached: Unreached): void {
      if (isContradicted(unreached)) return;
      if (!isOn()) forget(({ endedMs }) => endedMs <= unreached.endedMs - WINDOW_MS);
      failing.delete(unreached.endpointId);
      failing.set(unreached.endpointId, unreached);
      if (failing.size > MAX_FAILING) failing.delete(failing.keys().next().value as string);
    },
    /** An attempt that began then reached a receiver: failures of attempts that began earlier are their receivers' own. */
    reached(startedMs: number): void {
      if (startedMs <= reachedMs) return;
      reachedMs = startedMs;
      forget(isContradicted);
    },
    isContradicted,
    isOn,
    /** The failures that nothing has contradicted, the latest one of each endpoint. */
    failing: () => [...failing.values()],
  };
}
