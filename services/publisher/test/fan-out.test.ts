import { randomUUID } from "node:crypto";
import { PARTITION_MISSING } from "@herald/common/database/errors";
import type { Log } from "@herald/common/telemetry/log";
import { eventually } from "@herald/dev/harness/eventually";
import { insertEndpoint } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, expect, test } from "@jest/globals";
import { createFanOut, type FanOut, type FanOutItem } from "../src/fan-out.ts";
import { makePartitions } from "../src/sql/partitions.ts";
import { incomingEvent, NOW, refuseDeliveries, SILENT } from "./given.ts";

const db = useDatabase();
const MAX_EVENTS = 250;

let stopRefusing: () => Promise<void> = async () => {};
afterEach(() => stopRefusing());

function fanOut(log = SILENT): FanOut {
  const clock = { now: () => NOW, monotonicMs: () => 0 };
  const { signal } = new AbortController();
  return createFanOut({ queries: db.database.queries, clock, log, signal }, { maxEvents: MAX_EVENTS });
}

/** An organization with so many endpoints. */
async function organizationWith(endpoints: number): Promise<string> {
  const organizationId = randomUUID();
  for (let count = 0; count < endpoints; count++) await insertEndpoint(db.database.prisma, { organizationId });
  return organizationId;
}

const eventsOf = (organizationId: string, count: number): FanOutItem[] =>
  Array.from({ length: count }, () => ({ event: incomingEvent(organizationId) }));
const countDeliveries = (organizationId: string) => db.database.prisma.delivery.count({ where: { organizationId } });

test("events that are too much for one statement are stored by smaller ones, with those of somebody else among them", async () => {
  const wide = await organizationWith(10);
  const other = await organizationWith(1);
  stopRefusing = await refuseDeliveries(db.database.prisma, "(select count(*) from made) > 35", "57014");
  const items = [...eventsOf(wide, 10), ...eventsOf(other, 1), ...eventsOf(wide, 10)];
  const { outcomes, made, deliveryCount } = await fanOut().together(items);
  expect(outcomes).toEqual(items.map(() => ({ kind: "stored" })));
  expect(deliveryCount).toBe(201);
  expect(new Set(made.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))).size).toBe(201);
  expect(await countDeliveries(wide)).toBe(200);
  expect(await countDeliveries(other)).toBe(1);
});

test.each(["57014", "55P03", "40P01"])(
  "an event that is too much also without others (%s) is set aside, and the others are stored",
  async (code) => {
    const locked = await organizationWith(1);
    const other = await organizationWith(1);
    const condition = `exists (select from made where organization_id = '${locked}')`;
    stopRefusing = await refuseDeliveries(db.database.prisma, condition, code);
    const [bad] = eventsOf(locked, 1) as [FanOutItem];
    const items = [...eventsOf(other, 20), bad, ...eventsOf(other, 20)];
    const { outcomes } = await fanOut().together(items);
    expect(outcomes.flatMap(({ kind }, index) => (kind === "stored" ? [] : [[kind, items[index]]]))).toEqual([
      ["too much", bad],
    ]);
    expect(await countDeliveries(other)).toBe(40);
    expect(await countDeliveries(locked)).toBe(0);

    // Also alone, in pages of one delivery; and once the cause is gone it is stored.
    expect((await fanOut().alone(bad)).outcomes).toMatchObject([{ kind: "too much" }]);
    await stopRefusing();
    expect((await fanOut().alone(bad)).outcomes).toEqual([{ kind: "stored" }]);
    expect(await countDeliveries(locked)).toBe(1);
  },
);

test("an event of which PostgreSQL can only store a few deliveries at once gets all of them, page by page", async () => {
  const wide = await organizationWith(10);
  stopRefusing = await refuseDeliveries(db.database.prisma, "(select count(*) from made) > 3", "57014");
  const [item] = eventsOf(wide, 1) as [FanOutItem];
  const fanning = fanOut();
  expect((await fanning.together([item])).outcomes).toMatchObject([{ kind: "too much" }]);
  let outcome = (await fanning.alone(item)).outcomes[0];
  while (outcome?.kind === "unfinished") {
    outcome = (await fanning.alone({ ...item, afterEndpointId: outcome.afterEndpointId })).outcomes[0];
  }
  expect(outcome).toEqual({ kind: "stored" });
  expect(await countDeliveries(wide)).toBe(10);
});

test("a statement makes 5,000 deliveries at the most, however many endpoints the events have", async () => {
  const organizationId = randomUUID();
  await db.database.prisma.webhookEndpoint.createMany({
    data: Array.from({ length: 60 }, () => ({
      id: randomUUID(),
      organizationId,
      name: "Test receiver",
      url: "https://receiver.test/hooks",
      enabled: true,
      events: ["WorkItemCompleted"],
      sealedSecret: "sealed",
      createdAt: new Date(0),
      updatedAt: NOW,
    })),
  });
  stopRefusing = await refuseDeliveries(db.database.prisma, "(select count(*) from made) > 5000", "57014");
  const items = eventsOf(organizationId, 200);
  const first = await fanOut().together(items);
  // 25 endpoints for each of 200 events.
  expect(first.deliveryCount).toBe(5_000);
  const rest = items.map(({ event }, index) => {
    const outcome = first.outcomes[index];
    if (outcome?.kind !== "unfinished") throw new Error(`The outcome is ${outcome?.kind}.`);
    return { event, afterEndpointId: outcome.afterEndpointId };
  });
  expect((await fanOut().together(rest)).deliveryCount).toBe(5_000);
});

test("an event that PostgreSQL refuses is named with the reason, and the others are stored", async () => {
  const organizationId = await organizationWith(1);
  const [good, another] = eventsOf(organizationId, 2) as [FanOutItem, FanOutItem];
  const bad = { event: incomingEvent(organizationId, { body: "a\u0000b" }) };
  const { outcomes } = await fanOut().together([good, bad, another]);
  expect(outcomes).toMatchObject([
    { kind: "stored" },
    { kind: "unstorable", reason: expect.stringMatching(/can't be stored: .*encoding/) },
    { kind: "stored" },
  ]);
  expect(await countDeliveries(organizationId)).toBe(2);
});

test("events of a time that has no partition wait, as while PostgreSQL is away, and are stored once it has one", async () => {
  const { prisma, queries } = db.database;
  const organizationId = randomUUID();
  const occurredAt = new Date("2300-06-01T00:00:00Z");
  await insertEndpoint(prisma, { organizationId });
  const logged: string[] = [];
  const log: Log = { ...SILENT, error: (message) => void logged.push(message) };
  const stored = fanOut(log).together([{ event: incomingEvent(organizationId, { occurredAt }) }]);
  await eventually(() => expect(logged).toEqual([expect.stringContaining(PARTITION_MISSING)]));
  await makePartitions(queries, { first: "2300-01-01", end: "2301-01-01" });
  expect(await stored).toMatchObject({ outcomes: [{ kind: "stored" }], deliveryCount: 1 });
});
