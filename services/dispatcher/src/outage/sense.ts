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
