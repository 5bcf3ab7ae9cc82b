import { type Environment, readConfig } from "@herald/common/config/read-config";
import { type Clock, systemClock } from "@herald/common/runtime/clock";
import { repeat } from "@herald/common/runtime/repeat";
import { openService } from "@herald/common/service/open-service";
import type { Service } from "@herald/common/service/run-service";
import { catchUp } from "./catch-up.ts";
import { publisherSettings } from "./config.ts";
import { eraseOld } from "./erase-old.ts";
import { createFanOut } from "./fan-out.ts";
import { consumeEvents } from "./ingest/consume-events.ts";
import { exportLag } from "./lag-metrics.ts";
import { createMetrics } from "./metrics.ts";
import { publishNotices } from "./publish-notices.ts";
import { sendHints } from "./send-hints.ts";

const DAY_MS = 24 * 60 * 60_000;

/** How long a stop waits for events under way to be stored. */
const DRAIN_TIMEOUT_MS = 10_000;

/** Starts the publisher: takes events in, sends hints out, and repeats its three tasks: catch-up, notices, retention. */
export async function startPublisher(
  environment: Environment = process.env,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Service> {
  const config = readConfig(publisherSettings, environment);
  const service = await openService("publisher", config);
  const { broker, log, registry, tracing } = service;
  const { names } = broker;
  const { queries } = service.database;
  const metrics = createMetrics(registry);
  const publisher = broker.publisher();
  const stopping = new AbortController();
  const parts = { queries, clock, metrics, log };
  const windowMs = config.PUBLICATION_WINDOW_DAYS * DAY_MS;

  exportLag(registry, { queries, inspector: broker.inspector(), names, clock });
  const sender = broker.sender();
  const hint = (endpointIds: readonly string[]) => sendHints({ sender, queue: names.hintsQueue, metrics }, endpointIds);
  const fanOut = createFanOut(
    { queries, clock, log, signal: stopping.signal },
    { maxEvents: config.FAN_OUT_BATCH_SIZE },
  );
  const events = consumeEvents(
    { broker, names, publisher, hint, fanOut, clock, metrics, tracing, log },
    { prefetch: config.EVENT_PREFETCH, batchSize: config.FAN_OUT_BATCH_SIZE, windowMs },
  );

  const retention = {
    // While an event may still be delivered, it and its delivery must be known. Else it would be delivered again.
    keepMs: Math.max(config.RETENTION_DAYS * DAY_MS, windowMs + DAY_MS),
    pageSize: config.RETENTION_PAGE_SIZE,
  };
  const every = (seconds: number, failure: string) => ({
    intervalMs: seconds * 1_000,
    onFailure: (error: unknown) => log.error(failure, { error }),
  });
  const tasks = [
    repeat(
      (signal) => catchUp(parts, { pageSize: config.CATCH_UP_PAGE_SIZE, windowMs }, signal),
      every(config.CATCH_UP_INTERVAL_SECONDS, "a catch-up failed; it is tried again"),
    ),
    repeat(
      (signal) => publishNotices({ ...parts, publisher, exchange: names.noticesExchange }, signal),
      every(config.NOTICE_INTERVAL_SECONDS, "notices could not be published; they are tried again"),
    ),
    repeat(
      (signal) => eraseOld(parts, retention, signal),
      every(config.RETENTION_INTERVAL_SECONDS, "what is too old can't be erased; the next pass tries again"),
    ),
  ];

  return {
    log,
    async stop() {
      const stopped = Promise.all(tasks.map((task) => task.stop()));
      await events.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS });
      stopping.abort();
      await stopped;
      await sender.close();
      await publisher.close();
      await service.close();
    },
  };
}
