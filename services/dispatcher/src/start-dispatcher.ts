import type { Environment } from "@herald/common/config/read-config";
import { type Clock, systemClock } from "@herald/common/runtime/clock";
import { repeat } from "@herald/common/runtime/repeat";
import { openService } from "@herald/common/service/open-service";
import type { Service } from "@herald/common/service/run-service";
import { createClaims } from "./claim-queue.ts";
import { readDispatcherConfig } from "./config.ts";
import { consumeHints, consumeManualRequests } from "./consume-hints.ts";
import { createDeliver } from "./deliver.ts";
import { createDueScan } from "./due-scan.ts";
import { endpointSlots } from "./endpoint-slots.ts";
import { createHealthQueue } from "./health-queue.ts";
import { createHinted } from "./hinted.ts";
import { createInterrupted } from "./interrupted.ts";
import { createMetrics } from "./metrics.ts";
import { createScheduler } from "./scheduler.ts";
import { createSetAside } from "./set-aside.ts";
import { createSettleQueue } from "./settle-queue.ts";

/** An attempt may take its whole time, and then its settlement: within the 20 s that a stop has. */
const DRAIN_TIMEOUT_MS = 18_000;

/**
 * Starts the dispatcher. A hint, or a due scan, says that an endpoint has work; the scheduler claims as many of its
 * deliveries as it has slots; each is attempted and settled. Manual and interrupted deliveries are claimed one by one.
 */
export async function startDispatcher(
  environment: Environment = process.env,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Service> {
  const { config, sender, secretBox, schedule } = readDispatcherConfig(environment, clock);
  const service = await openService("dispatcher", config);
  const { broker, log, tracing } = service;
  const { queries } = service.database;
  const metrics = createMetrics(service.registry);
  const stopping = new AbortController();
  const parts = { queries, clock, metrics, tracing, log, signal: stopping.signal };

  const dueScan = createDueScan(parts);
  const leaseMs = config.CLAIM_LEASE_SECONDS * 1_000;
  const claims = createClaims(parts, { leaseMs, since: dueScan.since });
  const hinted = createHinted(parts, { leaseMs });
  const health = createHealthQueue(parts, {
    failingAfter: config.FAILING_AFTER_FAILURES,
    disableAfter: config.DISABLE_AFTER_FAILURES,
  });
  const slots = endpointSlots(config.ENDPOINT_CONCURRENCY);
  const aside = createSetAside(clock);
  const deliver = createDeliver({
    ...parts,
    sender,
    slots,
    aside,
    secretBox,
    schedule,
    settle: createSettleQueue({ ...parts, health }),
    unclaim: claims.undo,
    deadlineMs: config.ATTEMPT_TIMEOUT_SECONDS * 1_000,
  });

  const limits = { slots, aside, maxInFlight: config.MAX_IN_FLIGHT };
  const onFailure = (error: unknown) =>
    log.error("deliveries can't be claimed; the due scan comes back to them", { error });
  const scheduler = createScheduler({
    ...limits,
    concurrency: config.DELIVERY_CONCURRENCY,
    async claim(demands) {
      const claimed = await claims.due(demands);
      hinted.learn(claimed);
      return claimed;
    },
    deliver: hinted.held(metrics.counted("due", deliver)),
    onFailure,
  });
  const interrupted = createInterrupted({
    ...limits,
    claim: claims.interrupted,
    deliver: metrics.counted("interrupted", deliver),
    onFailure,
  });
  const scanning = repeat(
    (signal) =>
      dueScan.scan((endpoint) => {
        scheduler.add(endpoint.endpointId);
        if (endpoint.interrupted) interrupted.add(endpoint.endpointId);
      }, signal),
    {
      intervalMs: config.DUE_SCAN_INTERVAL_SECONDS * 1_000,
      onFailure: (error) => log.error("a due scan failed; the next one comes", { error }),
    },
  );
  const hints = consumeHints({ broker, scheduler, hinted, log });
  const manualRequests = consumeManualRequests(
    { broker, scheduler, slots, claim: claims.manual, deliver: metrics.counted("manual", deliver), log },
    { concurrency: config.MANUAL_CONCURRENCY },
  );

  return {
    log,
    ready: broker.ready,
    async stop() {
      // Settlements wait no longer than this for PostgreSQL. What is not settled is due again when its lease ends.
      const timeout = setTimeout(() => stopping.abort(), DRAIN_TIMEOUT_MS);
      // All at once: while one still ends its work, another must not begin new work.
      await Promise.all([
        scanning.stop(),
        scheduler.stop(),
        interrupted.stop(),
        hints.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS }),
        manualRequests.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS }),
      ]);
      await health.drained();
      clearTimeout(timeout);
      stopping.abort();
      await sender.close();
      await service.close();
    },
  };
}
