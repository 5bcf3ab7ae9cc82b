import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import { retry } from "@herald/common/runtime/repeat";
import type { Log } from "@herald/common/telemetry/log";
import { type Configuration, readConfiguration } from "../sql/read-configuration.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}

/** A configuration, and a time at which the endpoint had it. */
export interface TimedConfiguration {
  configuration: Configuration;
  configuredAt: Date;
}

const MAX_BATCH = 500;

/** Reads how an endpoint is configured now; undefined where it is disabled or deleted. While PostgreSQL is out of reach, it waits. */
export function createReadConfiguration({
  queries,
  clock,
  log,
  signal,
}: Parts): (endpointId: string) => Promise<TimedConfiguration | undefined> {
  return batcher<string, TimedConfiguration | undefined>(
    (endpointIds) =>
      retry(
        async () => {
          const configuredAt = clock.now();
          const found = await readConfiguration(queries, endpointIds);
          return found.map((configuration) => configuration && { configuration, configuredAt });
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
}
