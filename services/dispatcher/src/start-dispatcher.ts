import type { Consumer } from "@herald/common/broker/broker";
import type { Environment } from "@herald/common/config/read-config";
import { batcher } from "@herald/common/runtime/batcher";
import { repeat } from "@herald/common/runtime/repeat";
import { openService, type StartOptions } from "@herald/common/service/open-service";
import { factsOf } from "@herald/common/service/processes";
import type { Service } from "@herald/common/service/run-service";
import { type DispatcherTuning, dispatcherSettings, FAILING_AFTER_FAILURES, readDispatcherConfig } from "./config.ts";
import { createBodies } from "./delivery/bodies.ts";
import { createClaims } from "./delivery/claim-queue.ts";
import { createReconfigure } from "./delivery/configurations.ts";
import { createDeliver } from "./delivery/deliver.ts";
import { createSettleQueue } from "./delivery/settle-queue.ts";
import { createHealthQueue } from "./health/health-queue.ts";
import { createPatience } from "./health/patience.ts";
import { createBudget } from "./lanes/budget.ts";
import { consumeHints } from "./lanes/consume-hints.ts";
import { createDueScan } from "./lanes/due-scan.ts";
import { endpointSlots } from "./lanes/endpoint-slots.ts";
import { createHinted } from "./lanes/hinted.ts";
import { createInterrupted } from "./lanes/interrupted.ts";
import { consumeManualRequests } from "./lanes/manual-lane.ts";
import { createQuarantine } from "./lanes/quarantine.ts";
import { createRate } from "./lanes/rate.ts";
import { createScheduler } from "./lanes/scheduler.ts";
import { createHold } from "./members/hold.ts";
import { joinMembers } from "./members/members.ts";
import { createMetrics } from "./metrics.ts";
import { createOutage } from "./outage/outage.ts";
import { someReceivers } from "./outage/some-receivers.ts";
import { handOverManual } from "./sql/hand-over-manual.ts";

/** An attempt may take its whole time, and then its settlement: within the 20 s that a stop has. */
const DRAIN_TIMEOUT_MS = 18_000;

/** Manual deliveries of one statement, at the most. */
const MAX_HANDED_OVER = 500;

/**
 * Starts the dispatcher. A hint, or a due scan, says that an endpoint has work; the scheduler claims as many of its
 * deliveries as it has slots; each is attempted and settled. Manual and interrupted deliveries are claimed one by one.
 */
export async function startDispatcher(
  environment: Environment = process.env,
  { clock: steered, open = openService, tuning }: StartOptions<DispatcherTuning> = {},
): Promise<Service> {
  const { config, bounds, deadlineMs, leaseMs, dueScanIntervalMs, patienceMs, probe, sender, secrets, schedule } =
    readDispatcherConfig(environment, { now: () => clock.now(), monotonicMs: () => clock.monotonicMs() }, tuning);
  const service = await open("dispatcher", config, {
    clock: steered,
    facts: factsOf(dispatcherSettings, config),
    conditions: {
      share: () => members.hasBegun(),
      network: () => !outage.isOn(),
      restore: () => !hold.isHeld(),
    },
  });
  const { broker, clock, log, tracing } = service;
  const { queries } = service.database;
  const metrics = createMetrics(service.registry);
  const stopping = new AbortController();
  const parts = { queries, clock, metrics, tracing, log, signal: stopping.signal };

  function wake(): void {
    scheduler.wake();
    interrupted.wake();
    scanning.wake();
  }
  const outage = createOutage({ ...parts, probe, others: someReceivers(parts), onReturn: wake });
  const hold = createHold({ ...parts, onEnd: wake });
  const dueScan = createDueScan(parts);
  const claims = createClaims(parts, { leaseMs, since: dueScan.since });
  const hinted = createHinted(parts, { leaseMs });
  const health = createHealthQueue(parts, {
    patienceMs,
    failingAfter: FAILING_AFTER_FAILURES,
    disableAfter: config.DISABLE_AFTER_FAILURES,
  });
  const { ENDPOINT_CONCURRENCY: cap, ENDPOINT_RATE: attemptsPerSecond } = config;
  const members = joinMembers(parts, {
    id: service.id,
    cap,
    isWithin: (capOf) => slots.isWithin(capOf),
    outageSince: outage.since,
    onHold: hold.heard,
  });
  const shareOf = (endpointId: string) => members.shareOf(endpointId).count;
  const onReady = (endpointId: string) => scheduler.released(endpointId);
  const rateOf = (endpointId: string) => ((attemptsPerSecond ?? 0) * shareOf(endpointId)) / cap;
  const rate = attemptsPerSecond ? createRate({ rateOf, onReady, clock }) : undefined;
  const patience = createPatience(
    { clock, onReady, isBeingWritten: health.has },
    { patienceMs, disableAfter: config.DISABLE_AFTER_FAILURES, attemptMs: deadlineMs },
  );
  const slots = endpointSlots((endpointId) => patience.limit(endpointId, members.shareOf(endpointId)), rate);
  const quarantine = createQuarantine(parts);
  const bodies = createBodies({ ...parts, unclaim: claims.undo }, { budgetBytes: bounds.bodiesBytes, deadlineMs });
  const deliver = bodies.held(
    createDeliver({
      ...parts,
      sender,
      patience,
      outage,
      quarantine,
      secrets,
      schedule,
      reconfigure: createReconfigure(parts),
      settle: createSettleQueue({ ...parts, health }),
      unclaim: claims.undo,
      deadlineMs,
    }),
  );

  const budget = createBudget({ maxInFlight: bounds.inFlight });
  const mayClaim = () => !outage.isOn() && !hold.isHeld();
  const limits = { slots, quarantine, mayClaim, isHeldBack: bodies.areAwaitedBy };
  const onFailure = (error: unknown) =>
    log.error("deliveries can't be claimed; the due scan comes back to them", { error });
  const scheduler = createScheduler({
    ...limits,
    lane: budget.lane(bounds.deliveries),
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
      intervalMs: dueScanIntervalMs,
      onFailure: (error) => log.error("a due scan failed; the next one comes", { error }),
    },
  );
  let hints: Consumer | undefined;
  void Promise.all([members.begun, service.timeKnown]).then(() => {
    if (isStopping) return;
    // What it found before, it had no share of.
    scanning.wake();
    const hasShare = (endpointId: string) => shareOf(endpointId) > 0;
    hints = consumeHints({ broker, scheduler, hinted, hasShare, clock, log });
  });
  const manualRequests = consumeManualRequests(
    {
      broker,
      lane: budget.lane(bounds.manualDeliveries),
      scheduler,
      slots,
      claim: claims.manual,
      handOver: batcher(
        async (deliveryIds) => {
          await handOverManual(queries, { deliveryIds, now: clock.now() });
          return deliveryIds.map(() => undefined);
        },
        { maxItems: MAX_HANDED_OVER, maxRunning: 1 },
      ),
      deliver: metrics.counted("manual", deliver),
      log,
    },
    { concurrency: bounds.manualDeliveries },
  );
  let isStopping = false;

  return {
    log,
    async ready() {
      await Promise.all([members.begun, service.timeKnown, broker.ready()]);
      // The hints, which it consumes since then.
      await broker.ready();
    },
    async stop() {
      // Settlements wait no longer than this for PostgreSQL. What is not settled is due again when its lease ends.
      const timeout = setTimeout(() => stopping.abort(), DRAIN_TIMEOUT_MS);
      isStopping = true;
      rate?.stop();
      bodies.close();
      // All at once: while one still ends its work, another must not begin new work.
      await Promise.all([
        outage.stop(),
        scanning.stop(),
        scheduler.stop(),
        interrupted.stop(),
        hints?.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS }),
        manualRequests.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS }),
      ]);
      await Promise.all([members.leave(), health.drained()]);
      clearTimeout(timeout);
      stopping.abort();
      await sender.close();
      await service.close();
    },
  };
}
