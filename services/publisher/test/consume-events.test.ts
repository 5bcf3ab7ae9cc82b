import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { PROBE } from "@herald/common/broker/topology";
import { until } from "@herald/dev/harness/client-environment";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { validEvent } from "./hostile/use-inbox.ts";
import { BATCH_SIZE, INBOX_BYTES, NOTHING_STORED_MS, REST_MS, useConsumer } from "./use-consumer.ts";

const inbox = useConsumer();
const { returnPostgres, emit, depthOf, waiting, counted, stored, subscriptionOf } = inbox;
/** Of 40 such events, a publisher may hold 38. */
const LARGE = "x".repeat(INBOX_BYTES / 38);

async function untilTakenTogether(): Promise<void> {
  await until("many events are taken at once", async () => {
    await emit("org", "WorkItemCompleted.a.0", BATCH_SIZE);
    return (inbox.statements.at(-1)?.items.length ?? 0) > 1;
  });
}

test("an event of a quiet organization has a statement at once, however many events of another one wait", async () => {
  await emit("flood", "WorkItemCompleted.a.0", 60);
  await until("all that may be held is held", async () => inbox.statements.length === 1 && (await waiting()) === 0);
  await emit("quiet", "WorkItemCompleted.a.0", 1);
  await until("its statement runs, beside that of the others", () => inbox.statements.length === 2);
  expect(inbox.statements[1]?.items.map(({ event }) => event.organizationId)).toEqual(["quiet"]);
});

test("regression: while and after an event takes long that is stored alone, others are handed over on arrival", async () => {
  inbox.subscriptions = [subscriptionOf("quiet")];
  returnPostgres();
  const { promise, resolve: end } = Promise.withResolvers<void>();
  let isRunning = false;
  inbox.alone = async () => {
    isRunning = true;
    await promise;
    return { outcomes: [{ kind: "stored" }], made: [], deliveryCount: 0, subscriptions: [] };
  };
  await emit("quiet", "WorkItemCompleted.a.0", 1);
  await until("it is known who gets its events", async () => (await counted("received")) === 1);
  await emit("wide", "WorkItemCompleted.b.0", 1);
  await until("it is stored alone", () => isRunning);
  inbox.clock.advance(1_001);
  await emit("quiet", "WorkItemCompleted.a.0", 1);
  await until("an event is stored meanwhile", async () => (await counted("received")) === 2);
  end();
  await until("it is stored", async () => (await counted("received")) === 3);
  await emit("quiet", "WorkItemCompleted.a.0", 1);
  await until("an event is stored after it", async () => (await counted("received")) === 4);
  expect(inbox.handedOver).toBe(2);
});

test("a message by which the doctor tries the way to an inbox queue is dropped, and an event with its header is not", async () => {
  returnPostgres();
  const { headers, content } = PROBE;
  inbox.channel.publish(inbox.names.eventsExchange, "doctor.a", content, { headers });
  const event = validEvent({ organizationId: "acme", occurredAtUtc: inbox.clock.now().toISOString() });
  inbox.channel.publish(inbox.names.eventsExchange, "WorkItemCompleted.a.0", Buffer.from(JSON.stringify(event)), {
    headers,
  });
  inbox.channel.publish(inbox.names.eventsExchange, "WorkItemCompleted.a.0", Buffer.from("no event"), { headers });
  await until("the event is stored, and what is none is set aside", async () => {
    return stored().length === 1 && (await depthOf([inbox.names.rejectedQueue])) === 1;
  });
  await until("none is left", async () => (await waiting()) === 0);
});

test("regression: a rejected event's reason is cut in the log, however long the name of its field is", async () => {
  const changes = { [`field-${"x".repeat(200_000)}`]: 7 };
  const event = { organizationId: "acme", id: randomUUID(), type: "RiskCreated", data: { changes } };
  const whole = {
    ...event,
    occurredAtUtc: inbox.clock.now().toISOString(),
    entityType: "Risk",
    entityId: randomUUID(),
  };
  inbox.channel.publish(inbox.names.eventsExchange, "RiskCreated.a.0", Buffer.from(JSON.stringify(whole)), {
    persistent: true,
  });
  await inbox.channel.waitForConfirms();
  await until("it is set aside", () => inbox.warnings.some((fields) => "reason" in fields));
  const [{ reason }] = inbox.warnings.filter((fields): fields is { reason: string } => "reason" in fields) as [
    { reason: string },
  ];
  expect(reason).toMatch(/^\/data\/changes\/field-x+$/);
  expect(reason).toHaveLength(1_000);
});

test("regression: events of which PostgreSQL takes none for long go back to RabbitMQ once, and are stored when it is there again", async () => {
  await emit("org", "WorkItemCompleted.a.0", 60);
  await until("all that may be held is held", async () => inbox.statements.length === 1 && (await waiting()) === 0);
  inbox.clock.advance(NOTHING_STORED_MS - 1);
  // Longer than the pause between two looks: a fixed wait, since nothing may happen.
  await sleep(1_000);
  expect(await waiting()).toBe(0);
  expect(inbox.consumer.oldestAgeSeconds()).toBe((NOTHING_STORED_MS - 1) / 1_000);
  inbox.clock.advance(1);
  await until("they went back", async () => (await waiting()) === 60);
  inbox.clock.advance(NOTHING_STORED_MS);
  await sleep(1_000);
  expect(inbox.statements).toHaveLength(1);
  expect(await waiting()).toBe(60);
  const before = stored().length;

  returnPostgres();
  // Those of the statement that ran come again as well.
  await until("all are stored", () => stored().length === before + 60);
  await untilTakenTogether();
  await until("none is left", async () => (await waiting()) === 0 && inbox.consumer.oldestAgeSeconds() === 0);
  expect(await depthOf([inbox.names.rejectedQueue])).toBe(0);
});

test("regression: a publisher that has not read its connection for long gives all events back, before RabbitMQ closes it", async () => {
  await emit("org", "WorkItemCompleted.a.0", 40, LARGE);
  await until("it holds as much as it may", () => inbox.consumer.restingMs() > 0);
  await until("they went back", async () => (await waiting()) === 40);
  expect(inbox.consumer.restingMs()).toBe(0);
  // A fixed wait, since nothing may happen: they are taken only after the statement has ended.
  await sleep(2 * REST_MS);
  expect(await waiting()).toBe(40);

  // PostgreSQL is slow: each statement takes longer than the connection may rest. An event at a time leaves room.
  for (let ended = 0; ended < 3; ended++) {
    inbox.clock.advance(REST_MS);
    inbox.statements[ended]?.end();
    await until("the next statement begins", () => inbox.statements.length === ended + 2);
    expect(inbox.statements.at(-1)?.items).toHaveLength(1);
    await sleep(REST_MS);
  }
  expect(inbox.told.filter((line) => line === "events are taken again")).toHaveLength(1);
  returnPostgres();
  await until("all are stored", () => new Set(stored().map(({ id }) => id)).size === 40);
  await untilTakenTogether();
  await until("none is left", async () => (await waiting()) === 0 && inbox.consumer.oldestAgeSeconds() === 0);
  expect(await depthOf([inbox.names.deadLetterQueue, inbox.names.rejectedQueue])).toBe(0);
});

test("regression: what waits on a channel that ends is not held twice when it comes again", async () => {
  await emit("org", "WorkItemCompleted.a.0", 60);
  await until("all that may be held is held", async () => inbox.statements.length === 1 && (await waiting()) === 0);
  const before = stored().length;
  await inbox.place.closeConnections();
  inbox.connection = await connect(inbox.place.url);
  inbox.channel = await inbox.connection.createConfirmChannel();
  await inbox.broker.ready();
  await until("all came again", async () => (await waiting()) === 0);
  returnPostgres();
  // Those of the statement that ran come again as well.
  await until("all are stored", () => stored().length === before + 60);
  await inbox.consumer.close();
  expect(new Set(stored().map(({ id }) => id)).size).toBe(60);
  expect(stored()).toHaveLength(before + 60);
  expect(await waiting()).toBe(0);
});
