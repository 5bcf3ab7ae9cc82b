import { randomUUID } from "node:crypto";
import { type Broker, connectBroker, type IncomingMessage } from "@herald/common/broker/broker";
import { declareTopology, names as namesOf } from "@herald/common/broker/topology";
import { catalogueRules } from "@herald/common/config/event-types";
import { Counts } from "@herald/common/runtime/counts";
import type { Log } from "@herald/common/telemetry/log";
import { Registry } from "@herald/common/telemetry/metrics";
import { DEFAULT_CATALOGUE } from "@herald/contracts";
import { until } from "@herald/dev/harness/client-environment";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useBroker } from "@herald/dev/harness/use-broker";
import { afterEach, beforeEach } from "@jest/globals";
import { type ChannelModel, type ConfirmChannel, connect } from "amqplib";
import type { FanOut, FanOutItem, FanOutOutcome, FanOutResult } from "../src/event/fan-out.ts";
import { consumeEvents, type EventsConsumer } from "../src/inbox/consume-events.ts";
import { createMetrics } from "../src/metrics.ts";
import type { Subscription } from "../src/sql/store-events.ts";
import { SILENT } from "./given.ts";
import { validEvent } from "./hostile/use-inbox.ts";

export const NOTHING_STORED_MS = 60_000;
export const REST_MS = 1_000;
export const BATCH_SIZE = 10;
export const INBOX_BYTES = 8 * 1024 ** 2;

/**
 * Publishers that consume events from a real RabbitMQ, with a stand-in for PostgreSQL. What it returns is each test's own. The first publisher runs
 * before the test begins.
 */
export function useConsumer() {
  const place = useBroker();
  const log: Log = {
    ...SILENT,
    warn: (_message, fields = {}) => void inbox.warnings.push(fields),
    info: (message) => void inbox.told.push(message),
  };
  const made = (namespace = `${place.namespace}-${randomUUID()}`, registry = new Registry()) => ({
    clock: steeredClock(),
    namespace,
    names: namesOf(namespace),
    registry,
    metrics: createMetrics(registry),
    /** PostgreSQL in this test: statements that end when the test ends them. */
    statements: [] as { items: readonly FanOutItem[]; end(): void }[],
    isThere: false,
    /** The subscriptions in each statement's answer. */
    subscriptions: [] as Subscription[],
    /** How many events were handed over on arrival. */
    handedOver: 0,
    /** How many events came by each queue. */
    came: new Counts<string>(),
    warnings: [] as object[],
    told: [] as string[],
  });
  const own = {} as {
    connection: ChannelModel;
    channel: ConfirmChannel;
    /** The last one that was started. */
    broker: Broker;
    consumer: EventsConsumer;
    /** Stores an event that is too much for a statement with others. */
    alone: () => Promise<FanOutResult>;
  };
  const inbox = {
    place,
    /** The publishers that run. */
    running: [] as { broker: Broker; consumer: EventsConsumer }[],
    ...made(),
    ...own,
  };

  beforeEach(async () => {
    Object.assign(inbox, made());
    inbox.connection = await connect(place.url);
    inbox.channel = await inbox.connection.createConfirmChannel();
    await declareTopology(inbox.channel, inbox.namespace);
    await startConsuming();
  });
  afterEach(async () => {
    returnPostgres();
    await endConsuming();
    await inbox.connection.close();
  });

  async function startConsuming(): Promise<void> {
    const { clock, names, metrics } = inbox;
    const broker = connectBroker({ url: place.url, namespace: inbox.namespace, name: "consume test", log });
    const together: FanOut["together"] = async (items) => {
      await new Promise<void>((resolve) => {
        inbox.statements.push({ items, end: resolve });
        if (inbox.isThere) resolve();
      });
      const outcomes = items.map(({ event }): FanOutOutcome => {
        if (event.organizationId !== "wide") return { kind: "stored" };
        return { kind: "too much", error: new Error("it takes too long") };
      });
      return { outcomes, made: [], deliveryCount: 0, subscriptions: inbox.subscriptions };
    };
    const consumes: Broker["consumeEvents"] = ({ handle, ...options }) => {
      const counting = (message: IncomingMessage) => {
        inbox.came.add(message.queue);
        return handle(message);
      };
      return broker.consumeEvents({ ...options, handle: counting });
    };
    const consumer = consumeEvents(
      {
        broker: { ...broker, consumeEvents: consumes },
        names,
        publisher: broker.publisher(),
        handOver: ({ stored, deliveries }) => {
          if (!stored) inbox.handedOver += deliveries.length;
        },
        reportUndelivered: async () => {},
        fanOut: { together, alone: () => inbox.alone() },
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
    Object.assign(inbox, { broker, consumer });
    inbox.running.push({ broker, consumer });
    await broker.ready();
  }

  /** The publishers end, and leave what they hold to the broker. */
  async function endConsuming(): Promise<void> {
    for (const each of inbox.running.splice(0)) {
      await each.consumer.close({ drainTimeoutMs: 0 });
      await each.broker.close();
    }
  }

  /** Ends inbox.statements until the condition holds, so that as many events arrive as these had. */
  async function storeUntil(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    let ended = 0;
    await until(what, async () => {
      if (await condition()) return true;
      inbox.statements[ended]?.end();
      ended = Math.min(ended + 1, inbox.statements.length);
      return false;
    });
  }

  function returnPostgres(): void {
    inbox.isThere = true;
    for (const { end } of inbox.statements) end();
  }

  async function emit(organizationId: string, bucket: string, count: number, text = ""): Promise<void> {
    for (let number = 0; number < count; number++) {
      const data = { changes: {}, text };
      const event = validEvent({ organizationId, occurredAtUtc: inbox.clock.now().toISOString(), data });
      inbox.channel.publish(inbox.names.eventsExchange, bucket, Buffer.from(JSON.stringify(event)), {
        persistent: true,
      });
    }
    await inbox.channel.waitForConfirms();
  }

  async function depthOf(queues: readonly string[]): Promise<number> {
    const depths = await Promise.all(queues.map((queue) => inbox.channel.checkQueue(queue)));
    return depths.reduce((sum, { messageCount }) => sum + messageCount, 0);
  }
  async function counted(result: string): Promise<number> {
    const metric = await inbox.registry.getSingleMetric("herald_events_total")?.get();
    return metric?.values.find(({ labels }) => labels.result === result)?.value ?? 0;
  }

  function subscriptionOf(organizationId: string): Subscription {
    return {
      organizationId,
      type: "WorkItemCompleted",
      endpoints: [
        {
          id: randomUUID(),
          revision: "1",
          readAt: inbox.clock.now(),
          createdAt: new Date(0),
          owner: "a dispatcher",
          isReady: true,
        },
      ],
    };
  }

  const waiting = () => depthOf(inbox.names.eventQueues);
  const stored = () => inbox.statements.flatMap(({ items }) => items.map(({ event }) => event));
  const actions = { startConsuming, endConsuming, storeUntil, returnPostgres, emit, depthOf };
  return Object.assign(inbox, actions, { waiting, counted, stored, subscriptionOf });
}
