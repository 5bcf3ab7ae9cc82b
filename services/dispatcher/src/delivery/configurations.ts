import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import { retry } from "@herald/common/runtime/retry";
import type { Log } from "@herald/common/telemetry/log";
import type { ReadyDelivery } from "../sql/claimed-delivery.ts";
import { type Configuration, readConfiguration } from "../sql/read-configuration.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}

/**
 * No attempt begins with a URL, a secret or an `enabled` that was read longer ago than this: a delivery may have waited for bytes
 * meanwhile, or PostgreSQL's answer took long.
 */
export const CONFIGURATION_MS = 500;

/** The delivery with what its endpoint is now; undefined where the endpoint is disabled or deleted. */
export type Reconfigure = (delivery: ReadyDelivery) => Promise<ReadyDelivery | undefined>;

const MAX_BATCH = 500;

export function createReconfigure({ queries, clock, log, signal }: Parts): Reconfigure {
  const read = batcher<string, (Configuration & { configuredAt: Date }) | undefined>(
    (endpointIds) =>
      retry(
        async () => {
          const configuredAt = clock.now();
          const found = await readConfiguration(queries, endpointIds);
          return found.map((each) => each && { ...each, configuredAt });
        },
        {
          shouldRetry: (error) => !isDataError(error),
          onFirstFailure: (error) =>
            log.error("endpoints can't be read; deliveries to them wait for PostgreSQL", { error }),
          signal,
        },
      ),
    { maxItems: MAX_BATCH, maxRunning: 2 },
  );
  return async (delivery) => {
    const configuration = await read(delivery.endpointId);
    return configuration && { ...delivery, ...configuration };
  };
}
