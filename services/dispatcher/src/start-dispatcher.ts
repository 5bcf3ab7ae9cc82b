import type { Environment } from "@herald/common/config/read-config";
import { isDataError } from "@herald/common/database/errors";
import { untilAnswered } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import { openProcess, type StartOptions } from "@herald/common/service/open-process";
import { factsOf, haveOtherKey } from "@herald/common/service/processes";
import type { Service } from "@herald/common/service/run-service";
import { startFailureLog } from "./attempt/failure-log.ts";
import { createMakeAttempt } from "./attempt/make-attempt.ts";
import type { Basics } from "./basics.ts";
import { type DispatcherTuning, dispatcherSettings, FAILING_AFTER_FAILURES, readDispatcherConfig } from "./config.ts";
import { createMetrics, exportUnstored } from "./metrics.ts";
import { createOutage } from "./outage/outage.ts";
import { watchStandstill } from "./outage/standstill.ts";
import { createManualDeliveries } from "./owner/manual-deliveries.ts";
import { consumeMessages } from "./owner/messages.ts";
import { createOwner } from "./owner/owner.ts";
import { createReadBacklog } from "./owner/read-backlog.ts";
import { startSweep } from "./owner/sweep.ts";
import { createHealthQueue } from "./settle/health-queue.ts";
import { createQuarantine } from "./settle/quarantine.ts";
import { startRates } from "./settle/rates.ts";
import { createSettleQueue } from "./settle/settle-queue.ts";
import { createShards } from "./shards/shards.ts";
import { type DueRow, readBodies } from "./sql/describe-deliveries.ts";
import { readConfiguration, someReceivers } from "./sql/read-configuration.ts";

/** An attempt of 15 s (the default limit), and then its settlement, have time within it. Less than the 20 s of `runService`. */
const DRAIN_TIMEOUT_MS = 18_000;

/** Starts the dispatcher. It takes its fair share of all shards, and makes the attempts of their endpoints. */
export async function startDispatcher(
  environment: Environment = process.env,
  { clock: steered, inProcess, tuning }: StartOptions<DispatcherTuning> = {},
): Promise<Service> {
  const { config, bounds, sweepIntervalMs, ratesIntervalMs, pausesMs, ...read } = readDispatcherConfig(
    environment,
    tuning,
  );
  const { newOwnerMs, maxEndpoints, extraAuthorities, probe, sender, secrets, schedule } = read;
  const facts = factsOf(dispatcherSettings, config);
  const { open } = inProcess ?? (await openProcess(["dispatcher"], config));
  const service = await open("dispatcher", config, {
    clock: steered,
    facts,
    tlsFiles: extraAuthorities,
    conditions: { shards: () => shards.isHeard(), network: () => !outage.isOn() },
  });
  const { broker, clock, log, tracing, id } = service;
  const { queries } = service.database;
  const metrics = createMetrics(service.registry);
  const stopping = new AbortController();
  const { createProgress } = service.database.failures;
  const basics = { queries, createProgress, clock, metrics, tracing, log, signal: stopping.signal };
  const { ENDPOINT_CONCURRENCY: concurrency, DISABLE_AFTER_FAILURES: disableAfter } = config;

  const standstill = watchStandstill(log);
  const outage = createOutage({ ...basics, probe, standstill, others: someReceivers(queries) });
  const shards = createShards(basics, {
    id,
    isAble: () => !secrets.doubtfulKeys().some((id) => haveOtherKey(service.others(), facts, id)),
    outageSince: outage.since,
    newOwnerMs,
  });
  const health = createHealthQueue(basics, { pausesMs, failingAfter: FAILING_AFTER_FAILURES, disableAfter });
  const rates = startRates(basics, { intervalMs: ratesIntervalMs });
  const settlements = createSettleQueue({ ...basics, health, rates });
  exportUnstored(service.registry, settlements.oldestUnstoredSeconds);
  const quarantine = createQuarantine(basics);
  const failures = startFailureLog(log);
  const parts = { ...basics, sender, secrets, schedule, outage, shards, health, settlements, quarantine, failures };
  const makeAttempt = createMakeAttempt({
    ...parts,
    // Few at once: as text they take memory beyond the budget of bytes, for a moment.
    readBody: reader(
      parts,
      { words: "bodies can't be read; they wait for PostgreSQL", maxItems: 16 },
      (due: readonly DueRow[]) => readBodies(queries, due),
    ),
  });
  const owner = createOwner(
    {
      ...parts,
      makeAttempt,
      readBacklog: createReadBacklog(parts, concurrency),
      readConfiguration: reader(
        parts,
        { words: "endpoints can't be read; deliveries to them wait for PostgreSQL", maxItems: 500 },
        (endpointIds: readonly string[]) => readConfiguration(queries, endpointIds, clock.now()),
      ),
    },
    {
      ...{ concurrency, ratePerSecond: config.ENDPOINT_RATE, breaker: { pausesMs, disableAfter } },
      ...{ newOwnerMs, maxEndpoints, bounds },
    },
  );
  const manual = createManualDeliveries({ ...parts, owner }, bounds.manualDeliveries);
  const messages = consumeMessages(id, { ...basics, broker, owner, manual });
  service.localOwners.set(id, owner.handedOver);
  const sweep = startSweep({ ...parts, owner }, sweepIntervalMs);
  outage.onReturn(owner.wake);
  // Only once the time is known, since the time decides what is due.
  void service.timeKnown.then(() => {
    if (!stopping.signal.aborted) {
      shards.start({ inFlightOf: owner.inFlightOf, onTaken: sweep.taken, onLost: owner.lost, onReturn: owner.wake });
    }
  });

  return {
    log,
    async ready() {
      await Promise.all([shards.begun, service.timeKnown, broker.ready()]);
    },
    async stop() {
      // Settlements wait no longer than this for PostgreSQL. Unsettled deliveries stay due.
      const timeout = setTimeout(() => stopping.abort(), DRAIN_TIMEOUT_MS);
      shards.release();
      service.localOwners.delete(id);
      await Promise.all([outage.stop(), sweep.stop(), messages.close(), owner.idle()]);
      await Promise.all([shards.end(), health.drained(), rates.stop()]);
      clearTimeout(timeout);
      standstill.stop();
      failures.stop();
      stopping.abort();
      await sender.close();
      await service.close();
    },
  };
}

/** Reads single items, up to `maxItems` of them with one statement. While PostgreSQL is out of reach, it waits. */
function reader<Item, Result>(
  parts: Basics,
  { words, maxItems }: { words: string; maxItems: number },
  statement: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  const read = (items: readonly Item[]) => untilAnswered(parts, words, () => statement(items), isDataError);
  return batcher(read, { maxItems, maxRunning: 2 });
}
