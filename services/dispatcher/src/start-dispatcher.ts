import type { Environment } from "@herald/common/config/read-config";
import { type Clock, systemClock } from "@herald/common/runtime/clock";
import { repeat } from "@herald/common/runtime/repeat";
import { openService } from "@herald/common/service/open-service";
import type { Service } from "@herald/common/service/run-service";
import { createBodies } from "./bodies.ts";
import { createBudget } from "./budget.ts";
import { createClaims } from "./claim-queue.ts";
import { readDispatcherConfig } from "./config.ts";
import { consumeHints } from "./consume-hints.ts";
import { createCutOff } from "./cut-off.ts";
import { createDeliver } from "./deliver.ts";
import { createDueScan } from "./due-scan.ts";
import { endpointSlots } from "./endpoint-slots.ts";
import { createHealthQueue } from "./health-queue.ts";
import { createHinted } from "./hinted.ts";
import { createInterrupted } from "./interrupted.ts";
import { consumeManualRequests } from "./manual-lane.ts";
import { createMetrics } from "./metrics.ts";
import { createPatience } from "./patience.ts";
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
  const { config, probe, sender, secretBox, schedule, patienceMs } = readDispatcherConfig(environment, clock);
  const service = await openService("dispatcher", config, {
    network: () => !cutOff.isCutOff(),
  });
  const { broker, log, tracing } = service;
  const { queries } = service.database;
  const metrics = createMetrics(service.registry);
  const stopping = new AbortController();
  const parts = { queries, clock, metrics, tracing, log, signal: stopping.signal };

  const cutOff = createCutOff({
    ...parts,
    probe,
    onReturn() {
      scheduler.wake();
      interrupted.wake();
      scanning.wake();
    },
  });
  const dueScan = createDueScan(parts);
  const leaseMs = config.CLAIM_LEASE_SECONDS * 1_000;
  const claims = createClaims(parts, { leaseMs, since: dueScan.since });
  const hinted = createHinted(parts, { leaseMs });
  const health = createHealthQueue(parts, {
    patienceMs,
    failingAfter: config.FAILING_AFTER_FAILURES,
    disableAfter: config.DISABLE_AFTER_FAILURES,
  });
  const patience = createPatience(
    { clock, onReady: (endpointId) => scheduler.released(endpointId), isBeingWritten: health.has },
    { patienceMs, disableAfter: config.DISABLE_AFTER_FAILURES },
  );
  const share = { count: config.ENDPOINT_CONCURRENCY, first: true };
  const slots = endpointSlots((endpointId) => patience.limit(endpointId, share));
  const aside = createSetAside(clock);
  const deadlineMs = config.ATTEMPT_TIMEOUT_SECONDS * 1_000;
  const bodies = createBodies(
    { ...parts, unclaim: claims.undo },
    { budgetBytes: config.BODIES_MIB * 1024 ** 2, deadlineMs },
  );
  const deliver = bodies.held(
    createDeliver({
      ...parts,
      sender,
      patience,
      cutOff,
      aside,
      secretBox,
      schedule,
      settle: createSettleQueue({ ...parts, health }),
      unclaim: claims.undo,
      deadlineMs,
    }),
  );

  const budget = createBudget({ maxInFlight: config.MAX_IN_FLIGHT });
  const mayClaim = () => !cutOff.isCutOff();
  const limits = { slots, aside, mayClaim, isHeldBack: bodies.areAwaitedBy };
  const onFailure = (error: unknown) =>
    log.error("deliveries can't be claimed; the due scan comes back to them", { error });
  const scheduler = createScheduler({
    ...limits,
    lane: budget.lane(config.DELIVERY_CONCURRENCY),
    async claim(demands) {
      const claimed = await claims.due(demands);
      hinted.learn(claimed);
      for (const delivery of claimed) patience.learn(delivery);
      return claimed;
    },
    deliver: hinted.held(metrics.counted("due", deliver)),
    // An interrupted delivery comes first, since a backlog takes every slot again.
    onReleased: (endpointId) => interrupted.released(endpointId),
    onFailure,
  });
  const interrupted = createInterrupted({
    ...limits,
    lane: budget.lane(1),
    claim: claims.interrupted,
    deliver: metrics.counted("interrupted", deliver),
    onFailure,
  });
  const scanning = repeat(
    (signal) =>
      dueScan.scan((endpoint) => {
        patience.learn(endpoint);
        if (endpoint.interrupted) interrupted.add(endpoint);
        scheduler.add(endpoint);
      }, signal),
    {
      intervalMs: config.DUE_SCAN_INTERVAL_SECONDS * 1_000,
      onFailure: (error) => log.error("a due scan failed; the next one comes", { error }),
    },
  );
  const hints = consumeHints({ broker, scheduler, hinted, hasShare: () => true, clock, log });
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
      bodies.close();
      // All at once: while one still ends its work, another must not begin new work.
      await Promise.all([
        cutOff.stop(),
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
