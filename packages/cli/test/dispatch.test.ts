import { randomUUID } from "node:crypto";
import { declareTopology, names } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { callHerald } from "./run-herald.ts";

const db = useDatabase();
const broker = useBroker();

const run = (...args: string[]) =>
  callHerald(["dispatch", ...args], {
    DATABASE_URL: db.url,
    AMQP_URL: broker.url,
    BROKER_NAMESPACE: broker.namespace,
  });

const HOUR_S = 3_600;

afterEach(async () => {
  const { prisma } = db.database;
  await prisma.shard.updateMany({ data: { owner: null, stoppedAt: null } });
  await prisma.process.deleteMany();
  await prisma.due.deleteMany();
});

/** A dispatcher that owns these shards. By PostgreSQL's clock it is alive for this long, or dead since then if negative. */
async function insertDispatcher(aliveForSeconds: number, shards: readonly number[], able = true): Promise<string> {
  const { prisma } = db.database;
  const id = randomUUID();
  await prisma.$executeRaw`
    insert into process (id, service, name, able, alive_until)
    values (${id}::uuid, 'dispatcher', ${`host:${shards.length}`}, ${able},
            now() + ${aliveForSeconds}::float8 * interval '1 second')`;
  await prisma.shard.updateMany({ where: { id: { in: [...shards] } }, data: { owner: id } });
  return id;
}

async function stops(): Promise<(Date | null)[]> {
  const shards = await db.database.prisma.shard.findMany({ distinct: ["stoppedAt"] });
  return shards.map(({ stoppedAt }) => stoppedAt);
}

test("herald dispatch stop stops all shards, says since when, and keeps that when it is said again", async () => {
  const { code, stdout, stderr } = await run("stop");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const [stoppedAt, ...others] = await stops();
  expect(others).toEqual([]);
  expect(stdout).toContain(`Dispatching is stopped since ${stoppedAt?.toISOString()}`);
  expect((await run("stop")).stdout).toBe(stdout);
  expect(await stops()).toEqual([stoppedAt]);
});

test("herald dispatch stop takes in shards that were not stopped yet, and keeps the time of the others", async () => {
  const { prisma } = db.database;
  const earlier = new Date(Date.now() - 60_000);
  await prisma.shard.update({ where: { id: 7 }, data: { stoppedAt: earlier } });
  expect((await run("stop")).stdout).toContain(earlier.toISOString());
  expect(await prisma.shard.count({ where: { stoppedAt: null } })).toBe(0);
  expect((await prisma.shard.findUniqueOrThrow({ where: { id: 7 } })).stoppedAt).toEqual(earlier);
});

test("herald dispatch stop waits until each living dispatcher has given up its shards, and for no dead one", async () => {
  const { prisma } = db.database;
  const owner = await insertDispatcher(HOUR_S, [1, 2]);
  await insertDispatcher(-1, [3]);
  let isOver = false;
  const stopping = run("stop").finally(() => {
    isOver = true;
  });
  await eventually(async () => expect(await prisma.shard.count({ where: { stoppedAt: null } })).toBe(0));
  await prisma.shard.update({ where: { id: 1 }, data: { owner: null } });
  // A fixed time, to see that it does not end while one shard is still owned: it looks several times meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(isOver).toBe(false);
  await prisma.shard.updateMany({ where: { owner }, data: { owner: null } });
  expect(await stopping).toMatchObject({ code: 0 });
});

test("herald dispatch start lets attempts begin, and may be said again", async () => {
  await run("stop");
  const [stoppedAt] = await stops();
  expect(await run("start")).toEqual({
    code: 0,
    stdout: `Dispatching was stopped since ${stoppedAt?.toISOString()}: attempts begin within a second.\n`,
    stderr: "",
    audit: {
      timestamp: expect.any(String),
      level: "info",
      service: "herald",
      message: "herald dispatch start",
      audit: true,
      action: "dispatch start",
      who: expect.stringMatching(/^.+@.+$/),
      what: [],
      result: "done",
      details: { stoppedSince: stoppedAt?.toISOString() },
    },
  });
  expect(await stops()).toEqual([null]);
  expect(await run("start")).toMatchObject({
    code: 0,
    stdout: "Dispatching was not stopped.\n",
    stderr: "",
    audit: { result: "done", details: { stoppedSince: null } },
  });
});

test("herald dispatch status says since when it is stopped, who owns which shards, and what waits", async () => {
  const { prisma } = db.database;
  const owner = await insertDispatcher(HOUR_S, [0, 1, 2]);
  const unable = await insertDispatcher(HOUR_S, [], false);
  await insertDispatcher(-1, [3, 4]);
  const endpoint = await insertEndpoint(prisma);
  const disabled = await insertEndpoint(prisma, { enabled: false, disabledReason: "paused" });
  await insertDelivery(prisma, endpoint);
  await insertDelivery(prisma, endpoint, { due: { dueAt: new Date(Date.now() + HOUR_S * 1_000) } });
  await insertDelivery(prisma, disabled);
  const connection = await connect(broker.url);
  const channel = await connection.createConfirmChannel();
  await declareTopology(channel, broker.namespace);
  const { inboxQueues, behindQueues } = names(broker.namespace);
  for (const queue of [inboxQueues[3], behindQueues[3]]) channel.sendToQueue(queue ?? "", Buffer.from("x"));
  await channel.waitForConfirms();
  await connection.close();

  const dispatchers = [
    { id: unable, name: "host:0", able: false, shards: 0 },
    { id: owner, name: "host:3", able: true, shards: 3 },
  ];
  const waiting = { inbox: 2, due: 1, scheduled: 1 };
  expect(JSON.parse((await run("status", "--json")).stdout)).toEqual({
    stoppedSince: null,
    shardsStopped: 0,
    shardsOwned: 3,
    shardsUnowned: 253,
    dispatchers,
    ...waiting,
  });
  expect((await run("status")).stdout).toMatch(
    /it is not stopped[\s\S]*shards unowned +253 +their deliveries are not attempted[\s\S]*host:3 +able +3/,
  );

  const stoppedAt = new Date("2026-01-31T12:00:00.000Z");
  await prisma.shard.updateMany({ data: { stoppedAt } });
  expect((await run("status")).stdout).toContain(stoppedAt.toISOString());
  expect(JSON.parse((await run("status", "--json")).stdout)).toMatchObject({
    stoppedSince: stoppedAt.toISOString(),
    shardsStopped: 256,
    shardsOwned: 0,
    shardsUnowned: 0,
    dispatchers,
  });
});
