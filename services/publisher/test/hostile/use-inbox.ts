import { randomUUID } from "node:crypto";
import { names as namesOf } from "@herald/common/broker/topology";
import type { PrismaClient } from "@herald/common/database/generated/client";
import { machineClock } from "@herald/common/runtime/clock";
import type { Service } from "@herald/common/service/run-service";
import type { BusinessEvent } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { serviceEnvironment, type TestBrokerOptions, useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { freePort } from "@herald/dev/stack/ports";
import { afterAll, beforeAll, expect } from "@jest/globals";
import { type ChannelModel, type ConfirmChannel, type ConsumeMessage, connect, type Options } from "amqplib";
import { startPublisher } from "../../src/index.ts";

/** The time of the publisher's clock in these tests, and of its valid events. */
export const INBOX_TIME = new Date("2026-03-01T12:00:00.123Z");

/** Notices stay in their table, where the tests read them. */
export const INBOX_OPTIONS = {
  clock: { ...machineClock, now: () => INBOX_TIME },
  tuning: { noticeIntervalMs: 86_400_000 },
};

export const WINDOW_MS = 7 * 24 * 60 * 60_000;

/** A publisher that runs on a real RabbitMQ and a real PostgreSQL, and an emitter that can send any message. */
export function useInbox(brokerOptions: TestBrokerOptions = {}) {
  let service: Service;
  let metricsUrl: string;
  let connection: ChannelModel;
  let channel: ConfirmChannel;
  // Before database and broker look for connections that are left.
  afterAll(async () => {
    await connection?.close().catch(() => {});
    await service?.stop();
  });
  const db = useDatabase();
  const broker = useBroker(brokerOptions);
  const names = namesOf(broker.namespace);

  beforeAll(async () => {
    const port = await freePort();
    metricsUrl = `http://127.0.0.1:${port}/metrics`;
    service = await startPublisher(
      { ...serviceEnvironment(db.url, broker), OPERATIONS_PORT: String(port) },
      INBOX_OPTIONS,
    );
    connection = await connect(broker.url);
    connection.on("error", () => {});
    channel = await connection.createConfirmChannel();
    await service.ready();
  });

  const metrics = async () => (await fetch(metricsUrl, { headers: { connection: "close" } })).text();

  const inbox = {
    get prisma(): PrismaClient {
      return db.database.prisma;
    },
    names,
    get url() {
      return broker.url;
    },
    get channel() {
      return channel;
    },
    /** Publishes as a product service does, and resolves with the broker's confirm. */
    publish: (content: Buffer | string, options: Options.Publish = {}, routingKey = "WorkItemCompleted.c.2") =>
      new Promise<void>((resolve, reject) => {
        channel.publish(
          names.eventsExchange,
          routingKey,
          Buffer.from(content as string),
          { persistent: true, ...options },
          (error) => (error ? reject(error) : resolve()),
        );
      }),
    /** Takes everything out of the rejected queue, as soon as this many are there; never many more than that. */
    async takeRejected(count: number): Promise<ConsumeMessage[]> {
      await eventually(
        async () => {
          const { messageCount } = await channel.checkQueue(names.rejectedQueue);
          expect(messageCount).toBeGreaterThanOrEqual(count);
        },
        { timeoutMs: 100_000 },
      );
      const taken: ConsumeMessage[] = [];
      // A message that is requeued again and again would come for ever: many more than were expected are an error.
      const { consumerTag } = await channel.consume(names.rejectedQueue, (message) => message && taken.push(message), {
        noAck: true,
      });
      await eventually(() => expect(taken.length).toBeGreaterThanOrEqual(count), { timeoutMs: 100_000 });
      await channel.cancel(consumerTag);
      expect(taken.length).toBeLessThanOrEqual(count + 100);
      return taken;
    },
    /** Publishes an event that keeps the contract, and resolves when it is stored. */
    async storeValid(): Promise<void> {
      const event = validEvent();
      await inbox.publish(JSON.stringify(event));
      await eventually(async () =>
        expect(await db.database.prisma.businessEvent.count({ where: { id: event.id } })).toBe(1),
      );
    },
    /** A counter of the publisher's own metrics. */
    async counted(result: "received" | "stale" | "ignored" | "rejected"): Promise<number> {
      return Number(new RegExp(`herald_events_total\\{result="${result}"[^}]*\\} (\\d+)`).exec(await metrics())?.[1]);
    },
    /** Events that the publisher neither took nor wrote a row of. */
    async unkept(): Promise<number> {
      return Number(/herald_undelivered_events_unkept_total\S* (\d+)/.exec(await metrics())?.[1]);
    },
  };
  return inbox;
}

export function validEvent(override: Partial<BusinessEvent> = {}): BusinessEvent {
  return {
    organizationId: "organization-1",
    id: randomUUID(),
    type: "WorkItemCompleted",
    occurredAtUtc: INBOX_TIME.toISOString(),
    entityType: "WorkItem",
    entityId: randomUUID(),
    data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
    ...override,
  };
}
