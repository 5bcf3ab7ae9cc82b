import { catalogueRules, readCatalogue } from "@herald/common/config/event-types";
import { type Environment, readConfig } from "@herald/common/config/read-config";
import { repeat } from "@herald/common/runtime/repeat";
import { memoryBounds } from "@herald/common/service/memory";
import { openProcess, type StartOptions } from "@herald/common/service/open-process";
import { factsOf } from "@herald/common/service/processes";
import type { Service } from "@herald/common/service/run-service";
import { ERASED_ROWS, PUBLISHER_TUNING, type PublisherTuning, publisherSettings } from "./config.ts";
import { createFanOut } from "./event/fan-out.ts";
import { handOver as handOverTo } from "./hand-over.ts";
import { consumeEvents, type EventsConsumer } from "./inbox/consume-events.ts";
import { createReportUndelivered } from "./inbox/rejections.ts";
import { exportHeldEvents, exportLag } from "./lag-metrics.ts";
import { createMetrics, type TASKS } from "./metrics.ts";
import type { ForOwners } from "./sql/rows.ts";
import { createCatchUp } from "./tasks/catch-up.ts";
import { DAY_MS, makeAhead } from "./tasks/partitions.ts";
import { publishNotices } from "./tasks/publish-notices.ts";
import { createResend } from "./tasks/resend.ts";
import { createErasure, eraseOld } from "./tasks/retention.ts";
import { stepFailed } from "./tasks/task.ts";

/** How long a stop waits for events under way to be stored. */
const DRAIN_TIMEOUT_MS = 10_000;

/** Events go back to RabbitMQ if none could be stored for this long, and for longer than a statement may take. */
const NOTHING_STORED_MS = 60_000;

/** How long a start waits for partitions. Nothing can be stored without them, and the task goes on making them. */
const PARTITIONS_TIMEOUT_MS = 5_000;

const PARTITIONS_INTERVAL_MS = 10_000;
const RESEND_INTERVAL_MS = 1_000;
const ERASURE_INTERVAL_MS = 5_000;

/** The shortest lease of a task's work. It is always longer than some statements that run into their limit. */
const LEASE_MS = 2 * 60_000;

/** Starts the publisher: takes events in, hands their deliveries over, and repeats its tasks. */
export async function startPublisher(
  environment: Environment = process.env,
  { clock: steered, inProcess, tuning: ownTuning }: StartOptions<PublisherTuning> = {},
): Promise<Service> {
  const config = readConfig(publisherSettings, environment);
  const eventTypes = catalogueRules(readCatalogue(config));
  const tuning = { ...PUBLISHER_TUNING, ...ownTuning };
  const { inboxBytes } = { ...memoryBounds(config), ...tuning.bounds };
  const { open } = inProcess ?? (await openProcess(["publisher"], config));
  const service = await open("publisher", config, { clock: steered, facts: factsOf(publisherSettings, config) });
  const { broker, clock, log, registry, tracing } = service;
  const { names } = broker;
  const { queries, probes, failures } = service.database;
  const metrics = createMetrics(registry);
  const publisher = broker.publisher();
  const stopping = new AbortController();
  const parts = { queries, clock, metrics, log };
  const windowMs = config.PUBLICATION_WINDOW_DAYS * DAY_MS;
  // While an event may be delivered, it and its delivery must be kept. Else it would be delivered again.
  const keepMs = Math.max(config.RETENTION_DAYS * DAY_MS, windowMs + DAY_MS);

  type Task = (typeof TASKS)[number];
  const failed = (task: Task, failure: string) => (error: unknown) => stepFailed(parts, task, failure, { error });
  const repeated = (task: Task, intervalMs: number, failure: string, pass: (signal: AbortSignal) => Promise<unknown>) =>
    repeat(pass, { intervalMs, onFailure: failed(task, failure) });

  const noPartitions = "partitions can't be made now; the next pass tries again";
  const makePartitions = (signal: AbortSignal) => makeAhead(parts, { windowMs, keepMs }, signal);
  await makePartitions(AbortSignal.timeout(PARTITIONS_TIMEOUT_MS)).catch(failed("partitions", noPartitions));

  const inspector = broker.inspector();
  exportLag(registry, { ...parts, probes, inspector, names }, { endpointConcurrency: config.ENDPOINT_CONCURRENCY });
  const sender = broker.sender();
  const toOwners = { ...parts, localOwners: service.localOwners, sender, names };
  const handOver = (made: ForOwners) => handOverTo(toOwners, made);
  const { createProgress } = failures;
  const fanOut = createFanOut({ ...parts, createProgress, signal: stopping.signal }, { maxEvents: tuning.batchSize });
  const reportUndelivered = createReportUndelivered(parts);
  const statementMs = config.DATABASE_TIMEOUT_SECONDS * 1_000;
  const nothingStoredMs = Math.max(NOTHING_STORED_MS, 2 * statementMs);
  let isStopping = false;
  let events: EventsConsumer | undefined;
  exportHeldEvents(registry, () => events);
  // Events are consumed only once the time is known, since the time decides whether an event is too old.
  void service.timeKnown.then(() => {
    if (isStopping) return;
    events = consumeEvents(
      { broker, names, publisher, handOver, reportUndelivered, fanOut, clock, metrics, tracing, log },
      { inboxBytes, batchSize: tuning.batchSize, windowMs, eventTypes, nothingStoredMs },
    );
  });

  const leaseMs = Math.max(LEASE_MS, 4 * statementMs);
  const tasks = [
    repeated("partitions", PARTITIONS_INTERVAL_MS, noPartitions, makePartitions),
    repeated(
      "catch-up",
      tuning.catchUpIntervalMs,
      "catch-ups can't be taken; they are tried again",
      createCatchUp({ ...parts, handOver }, { pageSize: config.CATCH_UP_PAGE_SIZE, windowMs, leaseMs }),
    ),
    repeated(
      "resend",
      RESEND_INTERVAL_MS,
      "resends can't be taken; they are tried again",
      createResend({ ...parts, handOver }, { leaseMs }),
    ),
    repeated("notices", tuning.noticeIntervalMs, "notices could not be published; they are tried again", (signal) =>
      publishNotices({ ...parts, publisher, exchange: names.noticesExchange }, signal),
    ),
    repeated(
      "retention",
      tuning.retentionIntervalMs,
      "what is too old can't be erased; the next pass tries again",
      (signal) => eraseOld(parts, { keepMs, windowMs, pageSize: ERASED_ROWS }, signal),
    ),
    repeated(
      "erasure",
      ERASURE_INTERVAL_MS,
      "what deleted endpoints have left can't be erased; it is tried again",
      createErasure(parts, { pageSize: ERASED_ROWS, leaseMs }),
    ),
  ];

  return {
    log,
    async ready() {
      await Promise.all([service.timeKnown, broker.ready()]);
      // This waits until the inbox is consumed.
      await broker.ready();
    },
    async stop() {
      isStopping = true;
      const stopped = Promise.all(tasks.map((task) => task.stop()));
      await events?.close({ drainTimeoutMs: DRAIN_TIMEOUT_MS });
      stopping.abort();
      await stopped;
      await sender.close();
      await publisher.close();
      await service.close();
    },
  };
}
