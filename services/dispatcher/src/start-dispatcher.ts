import { readFileSync } from "node:fs";
import { ConfigError, type Environment, readConfig } from "@herald/common/config/read-config";
import { isDataError } from "@herald/common/database/errors";
import { batcher } from "@herald/common/runtime/batcher";
import { type Clock, systemClock } from "@herald/common/runtime/clock";
import { repeat } from "@herald/common/runtime/repeat";
import { retry } from "@herald/common/runtime/retry";
import { parsePrivateNetworks } from "@herald/common/security/private-networks";
import { secretBox } from "@herald/common/security/secret-box";
import { openService } from "@herald/common/service/open-service";
import type { Service } from "@herald/common/service/run-service";
import type { Hint } from "@herald/contracts";
import { createSender } from "./attempt/index.ts";
import { createBacklog } from "./backlog.ts";
import { dispatcherSettings } from "./config.ts";
import { consumeFirstHints, consumeManualHints } from "./consume-hints.ts";
import { createDeliver } from "./deliver.ts";
import type { ClaimedDelivery } from "./delivery.ts";
import { endpointSlots } from "./endpoint-slots.ts";
import { createMetrics } from "./metrics.ts";
import { retryPass } from "./retry-pass.ts";
import { retrySchedule } from "./retry-schedule.ts";
import { createSettleQueue } from "./settle-queue.ts";
import { claimHinted, claimOfEndpoints } from "./sql/claim.ts";
import { unclaim } from "./sql/unclaim.ts";
import { traceClaims } from "./tracing.ts";

/** Hints claimed by one statement, and such statements at once. */
const CLAIM_BATCH = { maxItems: 250, maxRunning: 2 };

/** An attempt may take its whole time, and then its settlement: within the 20 s that a stop has. */
const DRAIN_TIMEOUT_MS = 18_000;

/**
 * How much the clocks of publishers and dispatchers may differ. The grace of a hint ends by the publisher's; were a dispatcher
 * a moment behind it, the newest deliveries of a burst would seem to lie beyond that, and wait all of it.
 */
const CLOCK_DIFFERENCE_MS = 10_000;

/** Starts the dispatcher: two doors (hints, and PostgreSQL), one way behind them: claim, attempt, settle. */
export async function startDispatcher(
  environment: Environment = process.env,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Service> {
  const config = readConfig(dispatcherSettings, environment);
  const deadlineMs = config.ATTEMPT_TIMEOUT_SECONDS * 1_000;
  if (config.CLAIM_LEASE_SECONDS <= config.ATTEMPT_TIMEOUT_SECONDS) {
    throw new ConfigError(["CLAIM_LEASE_SECONDS: must be more than ATTEMPT_TIMEOUT_SECONDS"]);
  }
  const allowedPrivateNetworks = checked("ALLOWED_PRIVATE_NETWORKS", () =>
    parsePrivateNetworks(config.ALLOWED_PRIVATE_NETWORKS),
  );
  const secrets = checked("SECRET_KEYS", () => secretBox(config.SECRET_KEYS));
  const sender = checked("EXTRA_CA_FILE", () =>
    createSender({
      deadlineMs,
      headerPrefix: config.HEADER_PREFIX,
      standardWebhooks: config.STANDARD_WEBHOOKS,
      allowedPrivateNetworks,
      extraCa: config.EXTRA_CA_FILE && readFileSync(config.EXTRA_CA_FILE, "utf8"),
      clock,
    }),
  );

  const service = await openService("dispatcher", config);
  const { broker, log, tracing } = service;
  const { queries } = service.database;
  const metrics = createMetrics(service.registry);
  const slots = endpointSlots(config.ENDPOINT_CONCURRENCY);
  const schedule = retrySchedule(config.RETRY_DELAYS_SECONDS.split(",").map((seconds) => Number(seconds) * 1_000));

  const stopping = new AbortController();
  const deliver = createDeliver({
    sender,
    slots,
    secretBox: secrets,
    schedule,
    settle: createSettleQueue(
      { queries, clock, metrics, log, signal: stopping.signal },
      { failingAfter: config.FAILING_AFTER_FAILURES, disableAfter: config.DISABLE_AFTER_FAILURES },
    ),
    unclaim: ({ deliveryId, attempt }, delayMs) => unclaim(queries, { deliveryId, attempt, dueAt: fromNow(delayMs) }),
    clock,
    deadlineMs,
    metrics,
    tracing,
    log,
  });
  const traced = traceClaims(tracing);
  const backlog = createBacklog({
    slots,
    concurrency: config.BACKLOG_CONCURRENCY,
    claim: (demands) =>
      traced(() =>
        claimOfEndpoints(queries, demands, {
          ...claimTimes(),
          unhintedAt: fromNow(config.HINT_GRACE_SECONDS * 1_000 + CLOCK_DIFFERENCE_MS),
        }),
      ),
    deliver: metrics.counted("backlog", deliver),
    onFailure: (error) => log.error("a backlog can't be claimed; the retry pass comes back to it", { error }),
  });
  const claim = batcher<Hint, ClaimedDelivery | undefined>(async (hints) => {
    metrics.claimBatchSize.observe(hints.length);
    const deliveryIds = hints.map((hint) => hint.deliveryId);
    const claimed = await retry(() => traced(() => claimHinted(queries, deliveryIds, claimTimes())), {
      shouldRetry: (error) => !isDataError(error),
      onFirstFailure: (error) => log.error("hinted deliveries can't be claimed; they wait for PostgreSQL", { error }),
      signal: stopping.signal,
    });
    const byId = new Map(claimed.map((delivery) => [delivery.deliveryId, delivery]));
    return hints.map((hint) => takeOut(byId, hint.deliveryId));
  }, CLAIM_BATCH);

  const doors = { broker, slots, backlog, claim, log };
  const firstHints = consumeFirstHints(
    { ...doors, deliver: metrics.counted("first", deliver) },
    { queue: broker.names.firstHintsQueue, concurrency: config.NEW_DELIVERY_CONCURRENCY },
    { maxInFlight: config.MAX_IN_FLIGHT },
  );
  const manualHints = consumeManualHints(
    { ...doors, deliver: metrics.counted("manual", deliver) },
    { queue: broker.names.manualHintsQueue, concurrency: config.MANUAL_CONCURRENCY },
  );
  const retrying = repeat(
    (signal) => retryPass({ queries, clock }, { pageSize: config.RETRY_PAGE_SIZE, onDue: backlog.add }, signal),
    {
      intervalMs: config.RETRY_INTERVAL_SECONDS * 1_000,
      onFailure: (error) => log.error("a look for due deliveries failed; the next one comes", { error }),
    },
  );

  function claimTimes() {
    return {
      now: clock.now(),
      leasedUntil: fromNow(config.CLAIM_LEASE_SECONDS * 1_000),
      maxAttempts: schedule.maxAttempts,
    };
  }

  function fromNow(milliseconds: number): Date {
    return new Date(clock.now().getTime() + milliseconds);
  }

  return {
    log,
    async stop() {
      // Longer than that a settlement doesn't wait for PostgreSQL: what is unsettled comes due again.
      const patience = setTimeout(() => stopping.abort(), DRAIN_TIMEOUT_MS);
      const drained = Promise.all([
        firstHints.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS }),
        manualHints.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS }),
      ]);
      await retrying.stop();
      await backlog.stop();
      await drained;
      clearTimeout(patience);
      stopping.abort();
      await sender.close();
      await service.close();
    },
  };
}

/** Of two hints of the same delivery, one gets it. */
function takeOut<K, V>(map: Map<K, V>, key: K): V | undefined {
  const value = map.get(key);
  map.delete(key);
  return value;
}

function checked<T>(setting: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new ConfigError([`${setting}: ${(error as Error).message}`]);
  }
}
