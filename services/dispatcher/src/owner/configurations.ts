import type { Basics } from "../basics.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { HealthQueue } from "../settle/health-queue.ts";
import type { Configuration, TimedConfiguration } from "../sql/read-configuration.ts";

export interface ConfigurationParts extends Basics {
  /** The current configuration of an endpoint; undefined if it is disabled or deleted. Rejects only at the end of the process. */
  readConfiguration: (endpointId: string) => Promise<TimedConfiguration | undefined>;
  health: HealthQueue;
}

/** `drop` forgets an endpoint that is disabled or deleted. */
export function createConfigurations(
  { clock, readConfiguration, health }: ConfigurationParts,
  drop: (endpoint: Endpoint) => void,
) {
  async function read(endpoint: Endpoint): Promise<TimedConfiguration | undefined> {
    const { changes } = endpoint.configuration;
    const current = await readConfiguration(endpoint.id);
    if (current === undefined) drop(endpoint);
    else endpoint.take(current, changes);
    return current;
  }

  /** Returns the configuration for an attempt that begins now; undefined if the endpoint is disabled or deleted. */
  function of(endpoint: Endpoint): Promise<Configuration | undefined> | Configuration {
    const known = endpoint.configuration.current(clock.now().getTime());
    return known ?? read(endpoint).then((current) => current && of(endpoint));
  }

  return {
    of,
    /** Reads a configuration, though no attempt asks for it. Never rejects. */
    async refresh(endpoint: Endpoint): Promise<void> {
      const wasPending = health.has(endpoint.id);
      const current = await read(endpoint).catch(() => undefined);
      // PostgreSQL has all failures and still says enabled: the endpoint was resumed, or the setting is new.
      if (current && !wasPending && endpoint.gate.breaker.isOpenForGood()) endpoint.gate.reset(current.configuration);
    },
  };
}
