import { type Environment, readConfig } from "@herald/common/config/read-config";
import { type Clock, systemClock } from "@herald/common/runtime/clock";
import { repeat } from "@herald/common/runtime/repeat";
import { openService } from "@herald/common/service/open-service";
import type { Service } from "@herald/common/service/run-service";
import { catchUp } from "./catch-up.ts";
import { publisherSettings } from "./config.ts";
import { createFanOut } from "./fan-out.ts";
import { consumeEvents } from "./ingest/consume-events.ts";
import { exportLag } from "./lag-metrics.ts";
import { createMetrics } from "./metrics.ts";
import { publishNotices } from "./notices/publish-notices.ts";
import { eraseOld } from "./retention/erase-old.ts";

const DAY_MS = 24 * 60 * 60_000;

/** How long a stop waits for events under way to be stored. */
const DRAIN_TIMEOUT_MS = 10_000;

/** Starts the publisher: events in, deliveries and hints out, and what endpoints missed behind them. */
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
  const windowMs = config.PUBLICATION_WINDOW_DAYS * DAY_MS;

  const stopping = new AbortController();
  exportLag(registry, { queries, inspector: broker.inspector(), names, clock });
  const fanOut = createFanOut(
    { queries, clock, log, signal: stopping.signal },
    { windowMs, unhintedAfterMs: config.HINT_GRACE_SECONDS * 1_000 },
  );
  const publisher = broker.publisher();
  const events = consumeEvents(
    { broker, names, publisher, fanOut, metrics, tracing, log },
    { prefetch: config.EVENT_PREFETCH, batchSize: config.FAN_OUT_BATCH_SIZE },
  );
  const catchingUp = repeat(
    async (signal) => {
      const { unparked, filled } = await catchUp(
        { queries, clock, log },
        { pageSize: config.CATCH_UP_PAGE_SIZE, windowMs },
        () => signal.aborted,
      );
      metrics.caughtUp.inc({ kind: "woken" }, unparked);
      metrics.caughtUp.inc({ kind: "missed" }, filled);
    },
    {
      intervalMs: config.CATCH_UP_INTERVAL_SECONDS * 1_000,
      onFailure: (error) => log.error("a catch-up failed; it comes again", { error }),
    },
  );
  const noticing = repeat(
    (signal) =>
      publishNotices(
        { queries, clock, publisher, exchange: names.noticesExchange, metrics, log },
        () => signal.aborted,
      ),
    {
      intervalMs: config.NOTICE_INTERVAL_SECONDS * 1_000,
      onFailure: (error) => log.error("notices could not be published; they come again", { error }),
    },
  );
  const erasing = repeat(
    async (signal) => {
      await eraseOld(
        { queries, clock, log },
        {
          // Of what may still be delivered, event and delivery must be known, else it would be delivered again.
          keepDeliveriesMs: Math.max(config.RETENTION_DAYS * DAY_MS, windowMs + DAY_MS),
          keepEventsMs: Math.max(config.RETENTION_DAYS * DAY_MS, windowMs + DAY_MS),
          pageSize: config.RETENTION_PAGE_SIZE,
        },
        {
          signal,
          onErased: ({ deliveries = 0, events = 0 }) => {
            metrics.erased.inc({ kind: "delivery" }, deliveries);
            metrics.erased.inc({ kind: "event" }, events);
          },
        },
      );
      if (!signal.aborted) metrics.retentionPassed.setToCurrentTime();
    },
    {
      intervalMs: config.RETENTION_INTERVAL_SECONDS * 1_000,
      onFailure: (error) => log.error("what is too old can't be erased; the next pass tries again", { error }),
    },
  );

  return {
    log,
    async stop() {
      const drained = events.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS });
      const repeating = Promise.all([catchingUp.stop(), noticing.stop(), erasing.stop()]);
      await drained;
      stopping.abort();
      await repeating;
      await publisher.close();
      await service.close();
    },
  };
}
