import { randomUUID } from "node:crypto";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { endLife, type Heartbeat, heartbeat, releaseShards } from "../src/sql/heartbeat.ts";

const db = useDatabase();
const ALIVE_MS = 60_000;

const beat = (id: string, override: Partial<Heartbeat> = {}) =>
  heartbeat(db.database.queries, {
    id,
    aliveMs: ALIVE_MS,
    able: true,
    outageSince: null,
    newOwnerMs: 0,
    wanting: true,
    ...override,
  });

/** From now on, its last heartbeat is too long ago. */
const die = (id: string) =>
  db.database.prisma.process.update({ where: { id }, data: { aliveUntil: new Date(Date.now() - 1_000) } });

const ownedBy = (owner: string | null) => db.database.prisma.shard.count({ where: { owner } });

beforeEach(async () => {
  const { prisma } = db.database;
  await prisma.process.deleteMany();
  await prisma.shard.updateMany({ data: { owner: null, stoppedAt: null } });
});

test("a new owner attempts nothing on arrival for a while, and its next heartbeats do not prolong that", async () => {
  const id = randomUUID();
  const earliest = Date.now();
  await beat(id, { newOwnerMs: 15_000 });
  const onArrivalFrom = async () =>
    (await db.database.prisma.shard.findUniqueOrThrow({ where: { id: 7 } })).onArrivalFrom?.getTime() ?? 0;
  const from = await onArrivalFrom();
  // PostgreSQL's clock is this machine's.
  expect(from).toBeGreaterThanOrEqual(earliest + 14_900);
  expect(from).toBeLessThanOrEqual(Date.now() + 15_100);
  await beat(id, { newOwnerMs: 15_000 });
  expect(await onArrivalFrom()).toBe(from);
});

test("a heartbeat of a dispatcher that is alone takes everything at once, one of a second dispatcher takes none of it, and both get their fair share", async () => {
  const [first, second] = [randomUUID(), randomUUID()];
  const alone = await beat(first);
  expect([alone.owned.length, alone.taken.length, alone.fair]).toEqual([0, 256, 256]);
  expect(alone.taken.every(({ crashed }) => !crashed)).toBe(true);
  expect(await beat(second)).toMatchObject({ taken: [], fair: 128 });
  const { owned, fair } = await beat(first);
  expect([owned.length, fair]).toEqual([256, 128]);
  await releaseShards(
    db.database.queries,
    first,
    owned.slice(0, 128).map(({ shard }) => shard),
  );
  const { taken } = await beat(second);
  expect(taken.map(({ crashed }) => crashed)).toEqual(Array.from({ length: 128 }, () => false));
  expect([await ownedBy(first), await ownedBy(second)]).toEqual([128, 128]);
});

test.each([
  ["half a minute", 30_000],
  ["an hour", 3_600_000],
])(
  "regression: a dispatcher that died before PostgreSQL's clock was set back by %s lives for one lease",
  async (_by, stepMs) => {
    const [dead, living] = [randomUUID(), randomUUID()];
    await beat(dead);
    const aliveUntil = new Date(Date.now() + ALIVE_MS + stepMs);
    await db.database.prisma.process.update({ where: { id: dead }, data: { aliveUntil } });
    const before = new Date(Date.now() + ALIVE_MS + 1_000);
    // It may only be slow: its next heartbeat comes.
    expect((await beat(living)).taken).toHaveLength(0);
    expect(await db.database.prisma.process.count({ where: { id: dead, aliveUntil: { gt: before } } })).toBe(0);
    // A lease that is over at once.
    await beat(living, { aliveMs: 0 });
    expect((await beat(living)).taken).toHaveLength(256);
  },
);

test("a heartbeat takes the shards of a dead dispatcher, says so, and raises the epoch", async () => {
  const [dead, living] = [randomUUID(), randomUUID()];
  const before = await beat(dead);
  await die(dead);
  const { taken } = await beat(living);
  expect([taken.length, taken.every(({ crashed }) => crashed)]).toEqual([256, true]);
  const epochs = new Map(before.taken.map(({ shard, epoch }) => [shard, epoch]));
  expect(taken.every(({ shard, epoch }) => epoch === (epochs.get(shard) ?? 0) + 1)).toBe(true);
  // It was only frozen.
  expect(await beat(dead)).toMatchObject({ owned: [], taken: [] });
});

test("heartbeats at the same moment take each shard once", async () => {
  const ids = Array.from({ length: 8 }, () => randomUUID());
  const answers = await Promise.all(ids.map((id) => beat(id)));
  const taken = answers.flatMap((answer) => answer.taken.map(({ shard }) => shard));
  expect(new Set(taken).size).toBe(taken.length);
  const dead = randomUUID();
  await db.database.prisma.shard.updateMany({ data: { owner: dead } });
  const again = await Promise.all(ids.map((id) => beat(id)));
  const takenAgain = again.flatMap((answer) => answer.taken.map(({ shard }) => shard));
  expect(new Set(takenAgain).size).toBe(takenAgain.length);
  for (let round = 0; round < 3; round++) for (const id of ids) await beat(id);
  expect(await ownedBy(dead)).toBe(0);
});

test("a dispatcher that can't make attempts wants nothing while another one can, and its share if none can", async () => {
  const [unable, able] = [randomUUID(), randomUUID()];
  await beat(able);
  expect(await beat(unable, { able: false, outageSince: new Date() })).toMatchObject({ fair: 0, taken: [] });
  expect(await beat(able)).toMatchObject({ fair: 256 });
  await beat(able, { able: false });
  expect(await beat(unable, { able: false })).toMatchObject({ fair: 128 });
});

test("a heartbeat takes no stopped shard, and says which of its own are", async () => {
  const id = randomUUID();
  await beat(id);
  await db.database.prisma.shard.updateMany({ where: { id: { lt: 100 } }, data: { stoppedAt: new Date() } });
  expect((await beat(id)).owned.filter(({ stopped }) => stopped)).toHaveLength(100);
  await endLife(db.database.queries, id);
  expect(await ownedBy(null)).toBe(256);
  expect((await beat(randomUUID())).taken).toHaveLength(156);
});

test("a heartbeat deletes the rows of processes that ended long ago, and no others", async () => {
  const { prisma } = db.database;
  const [old, quiet, living] = [randomUUID(), randomUUID(), randomUUID()];
  const longAgo = new Date(Date.now() - 120_000);
  await prisma.process.create({ data: { id: old, service: "dispatcher", aliveUntil: longAgo, saidAt: longAgo } });
  await prisma.process.create({ data: { id: quiet, service: "publisher", saidAt: new Date() } });
  await beat(living);
  const left = await prisma.process.findMany();
  expect(left.map(({ id }) => id).sort()).toEqual([quiet, living].sort());
});
