import { randomUUID } from "node:crypto";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { type Broker, connectBroker, type IncomingMessage } from "@herald/common/broker/broker";
import { declareTopology, names as namesOf, PROBE } from "@herald/common/broker/topology";
import { catalogueRules } from "@herald/common/config/event-types";
import { Counts } from "@herald/common/runtime/counts";
import type { Log } from "@herald/common/telemetry/log";
import { Registry } from "@herald/common/telemetry/metrics";
import { DEFAULT_CATALOGUE } from "@herald/contracts";
import { until } from "@herald/dev/harness/client-environment";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useBroker } from "@herald/dev/harness/use-broker";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type ChannelModel, type ConfirmChannel, connect } from "amqplib";
import type { FanOut, FanOutItem, FanOutOutcome, FanOutResult } from "../src/event/fan-out.ts";
import { consumeEvents, type EventsConsumer } from "../src/inbox/consume-events.ts";
import { STAY_MS } from "../src/inbox/floods.ts";
import { createMetrics, type PublisherMetrics } from "../src/metrics.ts";
import type { Subscription } from "../src/sql/store-events.ts";
import { SILENT } from "./given.ts";
import { validEvent } from "./hostile/use-inbox.ts";

const place = useBroker();
const NOTHING_STORED_MS = 60_000;
const REST_MS = 1_000;
const BATCH_SIZE = 10;
const INBOX_BYTES = 8 * 1024 ** 2;
/** Of 40 such events, a publisher may hold 38. */
const LARGE = "x".repeat(INBOX_BYTES / 38);
const FLOOD = 4_000;
/** Events of a flood before it is turned: more than a publisher may hold of a queue. */
const FIRST = 700;
const warnings: object[] = [];
const told: string[] = [];
const log: Log = {
  ...SILENT,
  warn: (_message, fields = {}) => void warnings.push(fields),
  info: (message) => void told.push(message),
};

let clock = steeredClock();
let namespace = place.namespace;
let names = namesOf(namespace);
let connection: ChannelModel;
let channel: ConfirmChannel;
/** The last one that was started. */
let broker: Broker;
let consumer: EventsConsumer;
/** The publishers that run. */
const running: { broker: Broker; consumer: EventsConsumer }[] = [];
let registry: Registry;
let metrics: PublisherMetrics;
/** PostgreSQL in this test: statements that end when the test ends them. */
let statements: { items: readonly FanOutItem[]; end(): void }[];
let isThere: boolean;
/** Stores an event that is too much for a statement with others. */
let alone: () => Promise<FanOutResult>;
/** The subscriptions in each statement's answer. */
let subscriptions: Subscription[];
/** How many events were handed over on arrival. */
let handedOver: number;
/** How many events came by each queue. */
let came: Counts<string>;

beforeEach(async () => {
  clock = steeredClock();
  statements = [];
  isThere = false;
  subscriptions = [];
  handedOver = 0;
  came = new Counts();
  registry = new Registry();
  metrics = createMetrics(registry);
  warnings.length = 0;
  told.length = 0;
  namespace = `${place.namespace}-${randomUUID()}`;
  names = namesOf(namespace);
  connection = await connect(place.url);
  channel = await connection.createConfirmChannel();
  await declareTopology(channel, namespace);
  await startConsuming();
});

async function startConsuming(): Promise<void> {
  broker = connectBroker({ url: place.url, namespace, name: "consume test", log });
  const together: FanOut["together"] = async (items) => {
    await new Promise<void>((resolve) => {
      statements.push({ items, end: resolve });
      if (isThere) resolve();
    });
    const outcomes = items.map(({ event }): FanOutOutcome => {
      if (event.organizationId !== "wide") return { kind: "stored" };
      return { kind: "too much", error: new Error("it takes too long") };
    });
    return { outcomes, made: [], deliveryCount: 0, subscriptions };
  };
  const consumes: Broker["consumeEvents"] = ({ handle, ...options }) => {
    const counting = (message: IncomingMessage) => {
      came.add(message.queue);
      return handle(message);
    };
    return broker.consumeEvents({ ...options, handle: counting });
  };
  consumer = consumeEvents(
    {
      broker: { ...broker, consumeEvents: consumes },
      names,
      publisher: broker.publisher(),
      handOver: ({ stored, deliveries }) => {
        if (!stored) handedOver += deliveries.length;
      },
      reportUndelivered: async () => {},
      fanOut: { together, alone: () => alone() },
      clock,
      metrics,
      tracing: undefined,
      log,
    },
    {
      inboxBytes: INBOX_BYTES,
      batchSize: BATCH_SIZE,
      windowMs: 10 * NOTHING_STORED_MS,
      eventTypes: catalogueRules(DEFAULT_CATALOGUE),
      nothingStoredMs: NOTHING_STORED_MS,
      restMs: REST_MS,
    },
  );
  running.push({ broker, consumer });
  await broker.ready();
}

/** The publishers end, and leave what they hold to the broker. */
async function endConsuming(): Promise<void> {
  for (const each of running.splice(0)) {
    await each.consumer.close({ drainTimeoutMs: 0 });
    await each.broker.close();
  }
}

afterEach(async () => {
  returnPostgres();
  await endConsuming();
  await connection.close();
});

/** Ends statements until the condition holds, so that as many events arrive as these had. */
async function storeUntil(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  let ended = 0;
  await until(what, async () => {
    if (await condition()) return true;
    statements[ended]?.end();
    ended = Math.min(ended + 1, statements.length);
    return false;
  });
}

function returnPostgres(): void {
  isThere = true;
  for (const { end } of statements) end();
}

async function emit(organizationId: string, bucket: string, count: number, text = ""): Promise<void> {
  for (let number = 0; number < count; number++) {
    const data = { changes: {}, text };
    const event = validEvent({ organizationId, occurredAtUtc: clock.now().toISOString(), data });
    channel.publish(names.eventsExchange, bucket, Buffer.from(JSON.stringify(event)), { persistent: true });
  }
  await channel.waitForConfirms();
}

async function waiting(): Promise<number> {
  return await depthOf(names.eventQueues);
}

async function depthOf(queues: readonly string[]): Promise<number> {
  const depths = await Promise.all(queues.map((queue) => channel.checkQueue(queue)));
  return depths.reduce((sum, { messageCount }) => sum + messageCount, 0);
}
async function counted(result: string): Promise<number> {
  const metric = await registry.getSingleMetric("herald_events_total")?.get();
  return metric?.values.find(({ labels }) => labels.result === result)?.value ?? 0;
}

const stored = () => statements.flatMap(({ items }) => items.map(({ event }) => event));

async function untilTakenTogether(): Promise<void> {
  await until("many events are taken at once", async () => {
    await emit("org", "WorkItemCompleted.a.0", BATCH_SIZE);
    return (statements.at(-1)?.items.length ?? 0) > 1;
  });
}

test("an event of a quiet organization has a statement at once, however many events of another one wait", async () => {
  await emit("flood", "WorkItemCompleted.a.0", 60);
  await until("all that may be held is held", async () => statements.length === 1 && (await waiting()) === 0);
  await emit("quiet", "WorkItemCompleted.a.0", 1);
  await until("its statement runs, beside that of the others", () => statements.length === 2);
  expect(statements[1]?.items.map(({ event }) => event.organizationId)).toEqual(["quiet"]);
});

const [inboxQueue, behindQueue] = [() => names.inboxQueues[10] as string, () => names.behindQueues[10] as string];
/** Emits events of a flood until its sixteenth is turned, and returns how many. */
async function emitUntilTurned(): Promise<number> {
  await emit("flood", "WorkItemCompleted.a.0", FIRST * running.length);
  const line = "a flood of events goes to the second queue of its bucket";
  await until("a publisher says that it is turned", () => told.includes(line));
  await emit("flood", "WorkItemCompleted.a.0", 1);
  await until("an event comes by the second queue", () => came.of(behindQueue()) > 0);
  return FIRST * running.length + 1;
}

test.each([1, 2])(
  "a flood goes to the second queue, so that events of others after it get past it, and all of it is stored once (%d publishers)",
  async (publishers) => {
    for (let further = 1; further < publishers; further++) await startConsuming();
    const first = await emitUntilTurned();
    await emit("flood", "WorkItemCompleted.a.0", FLOOD - first);
    await emit("neighbour", "WorkItemCompleted.a.1", 10);
    await storeUntil("the neighbour's events are reached", async () => (await depthOf([inboxQueue()])) === 0);
    expect(stored().length).toBeLessThan(first);
    expect(await depthOf([behindQueue()])).toBeGreaterThan(FLOOD - 2 * first);

    returnPostgres();
    await until("all are stored", () => stored().length >= FLOOD + 10);
    await until("none is left", async () => (await waiting()) === 0);
    expect(new Set(stored().map(({ id }) => id)).size).toBe(FLOOD + 10);
    await until("all are acknowledged", async () => (await counted("received")) === FLOOD + 10);
  },
);

test("a flood stays turned if its publisher ends, another one stores all of it, and turns it back a minute after its end", async () => {
  const first = await emitUntilTurned();
  await emit("flood", "WorkItemCompleted.a.0", FLOOD / 2 - first);
  await endConsuming();
  // RabbitMQ puts back what the publisher held a moment after its channel has ended.
  await until("all wait again", async () => (await depthOf([inboxQueue(), behindQueue()])) === FLOOD / 2);
  const inFirst = await depthOf([inboxQueue()]);
  // The next publisher declares the topology, as each channel does.
  await declareTopology(channel, namespace);
  await emit("flood", "WorkItemCompleted.a.0", FLOOD / 2);
  await emit("neighbour", "WorkItemCompleted.a.1", 10);
  expect(await depthOf([inboxQueue()])).toBe(inFirst + 10);
  expect(await depthOf([behindQueue()])).toBe(FLOOD - inFirst);

  returnPostgres();
  await startConsuming();
  await until("all are stored", async () => new Set(stored().map(({ id }) => id)).size === FLOOD + 10);
  await until("none is left", async () => (await waiting()) === 0);
  clock.advance(STAY_MS);
  const before = came.of(inboxQueue());
  await until("an event comes by the first queue again", async () => {
    await emit("flood", "WorkItemCompleted.a.0", 1);
    return came.of(inboxQueue()) > before;
  });
});

const subscriptionOf = (organizationId: string): Subscription => ({
  organizationId,
  type: "WorkItemCompleted",
  endpoints: [
    {
      id: randomUUID(),
      revision: "1",
      readAt: clock.now(),
      createdAt: new Date(0),
      owner: "a dispatcher",
      isReady: true,
    },
  ],
});

test("regression: while and after an event takes long that is stored alone, others are handed over on arrival", async () => {
  subscriptions = [subscriptionOf("quiet")];
  returnPostgres();
  const { promise, resolve: end } = Promise.withResolvers<void>();
  let isRunning = false;
  alone = async () => {
    isRunning = true;
    await promise;
    return { outcomes: [{ kind: "stored" }], made: [], deliveryCount: 0, subscriptions: [] };
  };
  await emit("quiet", "WorkItemCompleted.a.0", 1);
  await until("it is known who gets its events", async () => (await counted("received")) === 1);
  await emit("wide", "WorkItemCompleted.b.0", 1);
  await until("it is stored alone", () => isRunning);
  clock.advance(1_001);
  await emit("quiet", "WorkItemCompleted.a.0", 1);
  await until("an event is stored meanwhile", async () => (await counted("received")) === 2);
  end();
  await until("it is stored", async () => (await counted("received")) === 3);
  await emit("quiet", "WorkItemCompleted.a.0", 1);
  await until("an event is stored after it", async () => (await counted("received")) === 4);
  expect(handedOver).toBe(2);
});

test("events that are handed over on arrival and not stored are bounded: the others wait, and are handed over as those are stored", async () => {
  // Each has too few events for a flood, which would be stored first.
  const organizations = Array.from({ length: 14 }, (_, number) => `organization-${number}`);
  subscriptions = organizations.map(subscriptionOf);
  const emitEach = async (count: number) => {
    for (const [bucket, organizationId] of organizations.entries()) {
      await emit(organizationId, `WorkItemCompleted.${bucket.toString(16)}.0`, count);
    }
  };
  returnPostgres();
  await emitEach(30);
  await until(
    "who gets events is known, and that messages are small",
    async () => (await counted("received")) === 14 * 30,
  );
  isThere = false;
  handedOver = 0;
  await emitEach(225);
  await until("all are in the process, and as many as may be are handed over", async () => {
    return handedOver >= 2_500 && (await waiting()) === 0;
  });
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  // One batch of others gets past.
  expect(handedOver).toBeLessThanOrEqual(2_700);

  returnPostgres();
  await until("all are stored", async () => (await counted("received")) === 14 * 255);
  expect(handedOver).toBe(14 * 225);
});

test("a message by which the doctor tries the way to an inbox queue is dropped, and an event with its header is not", async () => {
  returnPostgres();
  const { headers, content } = PROBE;
  channel.publish(names.eventsExchange, "doctor.a", content, { headers });
  const event = validEvent({ organizationId: "acme", occurredAtUtc: clock.now().toISOString() });
  channel.publish(names.eventsExchange, "WorkItemCompleted.a.0", Buffer.from(JSON.stringify(event)), { headers });
  channel.publish(names.eventsExchange, "WorkItemCompleted.a.0", Buffer.from("no event"), { headers });
  await until("the event is stored, and what is none is set aside", async () => {
    return stored().length === 1 && (await depthOf([names.rejectedQueue])) === 1;
  });
  await until("none is left", async () => (await waiting()) === 0);
});

test("regression: a rejected event's reason is cut in the log, however long the name of its field is", async () => {
  const changes = { [`field-${"x".repeat(200_000)}`]: 7 };
  const event = { organizationId: "acme", id: randomUUID(), type: "RiskCreated", data: { changes } };
  const whole = { ...event, occurredAtUtc: clock.now().toISOString(), entityType: "Risk", entityId: randomUUID() };
  channel.publish(names.eventsExchange, "RiskCreated.a.0", Buffer.from(JSON.stringify(whole)), { persistent: true });
  await channel.waitForConfirms();
  await until("it is set aside", () => warnings.some((fields) => "reason" in fields));
  const [{ reason }] = warnings.filter((fields): fields is { reason: string } => "reason" in fields) as [
    { reason: string },
  ];
  expect(reason).toMatch(/^\/data\/changes\/field-x+$/);
  expect(reason).toHaveLength(1_000);
});

test("regression: events of which PostgreSQL takes none for long go back to RabbitMQ once, and are stored when it is there again", async () => {
  await emit("org", "WorkItemCompleted.a.0", 60);
  await until("all that may be held is held", async () => statements.length === 1 && (await waiting()) === 0);
  clock.advance(NOTHING_STORED_MS - 1);
  // Longer than the pause between two looks: a fixed wait, since nothing may happen.
  await sleep(1_000);
  expect(await waiting()).toBe(0);
  expect(consumer.oldestAgeSeconds()).toBe((NOTHING_STORED_MS - 1) / 1_000);
  clock.advance(1);
  await until("they went back", async () => (await waiting()) === 60);
  clock.advance(NOTHING_STORED_MS);
  await sleep(1_000);
  expect(statements).toHaveLength(1);
  expect(await waiting()).toBe(60);
  const before = stored().length;

  returnPostgres();
  // Those of the statement that ran come again as well.
  await until("all are stored", () => stored().length === before + 60);
  await untilTakenTogether();
  await until("none is left", async () => (await waiting()) === 0 && consumer.oldestAgeSeconds() === 0);
  expect(await depthOf([names.rejectedQueue])).toBe(0);
});

test("regression: a publisher that has not read its connection for long gives all events back, before RabbitMQ closes it", async () => {
  await emit("org", "WorkItemCompleted.a.0", 40, LARGE);
  await until("it holds as much as it may", () => consumer.restingMs() > 0);
  await until("they went back", async () => (await waiting()) === 40);
  expect(consumer.restingMs()).toBe(0);
  // A fixed wait, since nothing may happen: they are taken only after the statement has ended.
  await sleep(2 * REST_MS);
  expect(await waiting()).toBe(40);

  // PostgreSQL is slow: each statement takes longer than the connection may rest. An event at a time leaves room.
  for (let ended = 0; ended < 3; ended++) {
    clock.advance(REST_MS);
    statements[ended]?.end();
    await until("the next statement begins", () => statements.length === ended + 2);
    expect(statements.at(-1)?.items).toHaveLength(1);
    await sleep(REST_MS);
  }
  expect(told.filter((line) => line === "events are taken again")).toHaveLength(1);
  returnPostgres();
  await until("all are stored", () => new Set(stored().map(({ id }) => id)).size === 40);
  await untilTakenTogether();
  await until("none is left", async () => (await waiting()) === 0 && consumer.oldestAgeSeconds() === 0);
  expect(await depthOf([names.deadLetterQueue, names.rejectedQueue])).toBe(0);
});

test("regression: what waits on a channel that ends is not held twice when it comes again", async () => {
  await emit("org", "WorkItemCompleted.a.0", 60);
  await until("all that may be held is held", async () => statements.length === 1 && (await waiting()) === 0);
  const before = stored().length;
  await place.closeConnections();
  connection = await connect(place.url);
  channel = await connection.createConfirmChannel();
  await broker.ready();
  await until("all came again", async () => (await waiting()) === 0);
  returnPostgres();
  // Those of the statement that ran come again as well.
  await until("all are stored", () => stored().length === before + 60);
  await consumer.close();
  expect(new Set(stored().map(({ id }) => id)).size).toBe(60);
  expect(stored()).toHaveLength(before + 60);
  expect(await waiting()).toBe(0);
});
