import type { Environment } from "@herald/common/config/read-config";
import { type Clock, systemClock } from "@herald/common/runtime/clock";
import { repeat } from "@herald/common/runtime/repeat";
import { openService } from "@herald/common/service/open-service";
import type { Service } from "@herald/common/service/run-service";
import { createBacklog } from "./backlog.ts";
import { createClaims } from "./claim-queue.ts";
import { readDispatcherConfig } from "./config.ts";
import { consumeFirstHints, consumeManualHints } from "./consume-hints.ts";
import { createDeliver } from "./deliver.ts";
import { dueScan } from "./due-scan.ts";
import { endpointSlots } from "./endpoint-slots.ts";
import { createMetrics } from "./metrics.ts";
import { createSettleQueue } from "./settle-queue.ts";

/** An attempt may take its whole time, and then its settlement: within the 20 s that a stop has. */
const DRAIN_TIMEOUT_MS = 18_000;

/** Starts the dispatcher. Deliveries come from three sources: hints, manual hints and the backlog. Each is claimed, attempted and settled. */
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

  const claims = createClaims(parts, {
    leaseMs: config.CLAIM_LEASE_SECONDS * 1_000,
    hintGraceMs: config.HINT_GRACE_SECONDS * 1_000,
    maxAttempts: schedule.maxAttempts,
  });
  const settle = createSettleQueue(parts, {
    failingAfter: config.FAILING_AFTER_FAILURES,
    disableAfter: config.DISABLE_AFTER_FAILURES,
  });
  const slots = endpointSlots(config.ENDPOINT_CONCURRENCY);
  const deliver = createDeliver({
    ...parts,
    sender,
    slots,
    secretBox,
    schedule,
    settle,
    unclaim: claims.undo,
    deadlineMs: config.ATTEMPT_TIMEOUT_SECONDS * 1_000,
  });

  const backlog = createBacklog({
    slots,
    concurrency: config.BACKLOG_CONCURRENCY,
    claim: claims.ofEndpoints,
    deliver: metrics.counted("backlog", deliver),
    onFailure: (error) => log.error("a backlog can't be claimed; the due scan comes back to it", { error }),
  });
  const hintParts = { broker, slots, backlog, claim: claims.hinted, log };
  const firstHints = consumeFirstHints(
    { ...hintParts, deliver: metrics.counted("first", deliver) },
    { queue: broker.names.firstHintsQueue, concurrency: config.NEW_DELIVERY_CONCURRENCY },
    { maxInFlight: config.MAX_IN_FLIGHT },
  );
  const manualHints = consumeManualHints(
    { ...hintParts, deliver: metrics.counted("manual", deliver) },
    { queue: broker.names.manualHintsQueue, concurrency: config.MANUAL_CONCURRENCY },
  );
  const scanning = repeat(
    (signal) => dueScan(parts, { pageSize: config.DUE_SCAN_PAGE_SIZE, onDue: backlog.add }, signal),
    {
      intervalMs: config.DUE_SCAN_INTERVAL_SECONDS * 1_000,
      onFailure: (error) => log.error("a due scan failed; the next one comes", { error }),
    },
  );

  return {
    log,
    async stop() {
      // Settlements wait no longer than this for PostgreSQL. What is not settled is due again when its lease ends.
      const timeout = setTimeout(() => stopping.abort(), DRAIN_TIMEOUT_MS);
      const drained = Promise.all(
        [firstHints, manualHints].map((consumer) => consumer.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS })),
      );
      await scanning.stop();
      await backlog.stop();
      await drained;
      clearTimeout(timeout);
      stopping.abort();
      await sender.close();
      await service.close();
    },
  };
}
