import { randomUUID } from "node:crypto";
import { declareTopology, names } from "@herald/common/broker/topology";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { readRestoreState } from "../src/restore/restore-state.ts";
import { callHerald } from "./run-herald.ts";

const db = useDatabase();
const broker = useBroker();
const RESTORED_TO = "2026-01-31T12:00:00.000Z";

const run = (...args: string[]) =>
  callHerald(["restore", ...args], {
    DATABASE_URL: db.url,
    AMQP_URL: broker.url,
    BROKER_NAMESPACE: broker.namespace,
  });
const begin = () => run("begin", "--restored-to", RESTORED_TO);

afterEach(async () => {
  const { prisma } = db.database;
  await prisma.restore.deleteMany();
  await prisma.process.deleteMany();
  await prisma.due.deleteMany();
});

/** A dispatcher that asked PostgreSQL so long ago. One that asks in the future is alive however slow the test is. */
async function insertDispatcher(secondsAgo: number): Promise<void> {
  await db.database.prisma.$executeRaw`
    insert into process (id, service, joined_at, seen_at)
    values (gen_random_uuid(), 'dispatcher', now(), now() - ${secondsAgo}::float8 * interval '1 second')`;
}

test("herald restore begin holds attempts, says what to do, and may be said again with another time", async () => {
  const { code, stdout, stderr } = await run("begin", "--restored-to", "2026-01-30T00:00:00Z");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("herald relay replay --since 2026-01-30T00:00:00.000Z");
  const first = await db.database.prisma.restore.findFirstOrThrow();
  expect((await begin()).code).toBe(0);
  expect(await db.database.prisma.restore.findMany()).toEqual([{ ...first, restoredTo: new Date(RESTORED_TO) }]);
});

test("herald restore begin refuses a time in the future", async () => {
  const future = new Date(Date.now() + 3_600_000).toISOString();
  expect(await run("begin", "--restored-to", future)).toMatchObject({ code: 2, stdout: "" });
  expect(await db.database.prisma.restore.count()).toBe(0);
});

test("herald restore begin waits for dispatchers that run and have not asked since, and for no dead one", async () => {
  const { queries } = db.database;
  await insertDispatcher(-60);
  await insertDispatcher(3_600);
  const later = new Date(Date.now() + 120_000);
  expect(await readRestoreState(queries, later)).toMatchObject({ dispatchers: 1, unheard: 1 });
  expect((await begin()).code).toBe(0);
  expect(await readRestoreState(queries)).toMatchObject({ dispatchers: 1, unheard: 0 });
});

test("herald restore status says since when attempts are held, who has heard of it, and what waits", async () => {
  expect((await run("status")).stdout).toBe("No restore is under way: attempts begin.\n");
  await begin();
  await insertDispatcher(-60);
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const disabled = await insertEndpoint(prisma, { enabled: false, disabledReason: "paused" });
  await insertDelivery(prisma, endpoint);
  await insertDelivery(prisma, endpoint, { due: { dueAt: new Date(Date.now() + 3_600_000), claimId: randomUUID() } });
  await insertDelivery(prisma, disabled);
  const connection = await connect(broker.url);
  const channel = await connection.createConfirmChannel();
  await declareTopology(channel, broker.namespace);
  channel.sendToQueue(names(broker.namespace).inboxQueues[3] ?? "", Buffer.from("x"));
  await channel.waitForConfirms();
  await connection.close();

  const { code, stdout } = await run("status");
  expect(code).toBe(0);
  expect(stdout).toContain(RESTORED_TO);
  expect(JSON.parse((await run("status", "--json")).stdout)).toEqual({
    restore: { restoredTo: RESTORED_TO, begunAt: expect.any(String) },
    dispatchers: 1,
    unheard: 0,
    underWay: 1,
    waiting: 2,
    inbox: 1,
  });
});

test("herald restore end lets attempts begin, and may be said again", async () => {
  await begin();
  expect(await run("end")).toEqual({
    code: 0,
    stdout: `The restore to ${RESTORED_TO} has ended: attempts begin.\n`,
    stderr: "",
  });
  expect(await db.database.prisma.restore.count()).toBe(0);
  expect(await run("end")).toEqual({ code: 0, stdout: "No restore was under way.\n", stderr: "" });
});
