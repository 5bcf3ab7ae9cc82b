import type { Basics } from "../basics.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { HealthQueue } from "../settle/health-queue.ts";
import type { Configuration, TimedConfiguration } from "../sql/read-configuration.ts";

interface Parts extends Basics {
  /** The current configuration of an endpoint; undefined if it is disabled or deleted. Rejects only at the end of the process. */
  readConfiguration: (endpointId: string) => Promise<TimedConfiguration | undefined>;
  health: HealthQueue;
  /** Forgets an endpoint that is disabled or deleted. */
  drop: (endpoint: Endpoint) => void;
}

/** Keeps the configurations of an owner's endpoints current. */
export function createConfigurations({ clock, readConfiguration, health, drop }: Parts) {
  function take(endpoint: Endpoint, current: TimedConfiguration | undefined): void {
    if (current === undefined) drop(endpoint);
    else endpoint.take(current);
  }

  /** Returns the configuration for an attempt that begins now; undefined if the endpoint is disabled or deleted. */
  function of(endpoint: Endpoint): Promise<Configuration | undefined> | Configuration {
    const known = endpoint.configuration.current(clock.now().getTime());
    if (known) return known;
    return readConfiguration(endpoint.id).then((current) => {
      take(endpoint, current);
      return current && of(endpoint);
    });
  }

  return {
    of,
    /** Reads a configuration, though no attempt asks for it. Never rejects. */
    async refresh(endpoint: Endpoint): Promise<void> {
      const wasPending = health.has(endpoint.id);
      const current = await readConfiguration(endpoint.id).catch(() => undefined);
      if (endpoint.isGone) return;
      take(endpoint, current);
      // PostgreSQL has all failures and still says enabled: the endpoint was resumed, or the setting is new.
      if (current && !wasPending && endpoint.gate.breaker.isOpenForGood()) endpoint.gate.reset(current.configuration);
    },
  };
}
