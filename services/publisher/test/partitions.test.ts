import { isDatabaseOutage, isDataError, isPartitionMissing } from "@herald/common/database/errors";
import { openDatabase } from "@herald/common/database/open-database";
import { insertDelivery, insertEndpoint, insertEvent } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { serviceEnvironment, useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { startPublisher } from "../src/index.ts";
import { dropPartitions, readPartitions } from "../src/sql/partitions.ts";
import { DAY_MS, dayOf, makeAhead, startOf } from "../src/tasks/partitions.ts";
import { taskParts } from "./given.ts";

const db = useDatabase({ partitioned: false });
const noSignal = new AbortController().signal;
// PostgreSQL's clock can't be steered, so the tests are of today.
const today = dayOf(new Date());
const daysFromToday = (days: number) => new Date(startOf(today).getTime() + days * DAY_MS);

beforeEach(async () => {
  for (const partition of await made()) await dropPartitions(db.database.queries, partition);
  await db.database.prisma.$executeRaw`truncate webhook_endpoint, due`;
});

function run({ now = new Date(), keptDays = 30, signal = noSignal } = {}) {
  return makeAhead(
    taskParts(db.database.queries, steeredClock(now)),
    { windowMs: 7 * DAY_MS, keepMs: keptDays * DAY_MS },
    signal,
  );
}
const made = () => readPartitions(db.database.queries);
/** The days that have a partition, each as often as it has one. */
const daysMade = async () =>
  (await made()).flatMap(({ first, end }) =>
    Array.from({ length: (startOf(end).getTime() - startOf(first).getTime()) / DAY_MS }, (_, day) =>
      dayOf(new Date(startOf(first).getTime() + day * DAY_MS)),
    ),
  );

/** The table that a row lies in. */
async function placeOf(table: string, column: string, id: string): Promise<string | undefined> {
  const [row] = await db.database.prisma.$queryRawUnsafe<{ place: string }[]>(
    `select tableoid::regclass::text as place from ${table} where ${column} = '${id}'`,
  );
  return row?.place;
}

test("a row lies in the partition of its id's day in UTC, and its delivery has room on the page", async () => {
  await run();
  const endpoint = await insertEndpoint(db.database.prisma);
  const suffix = today.replaceAll("-", "");
  for (const time of [daysFromToday(0), new Date(daysFromToday(1).getTime() - 1)]) {
    const delivery = await insertDelivery(db.database.prisma, endpoint, { createdAt: time });
    const event = await insertEvent(db.database.prisma, endpoint.organizationId, { occurredAt: time });
    expect(await placeOf("delivery", "id", delivery.id)).toBe(`delivery_${suffix}`);
    expect(await placeOf("business_event", "key", event.key)).toBe(`business_event_${suffix}`);
  }
  const [table] = await db.database.prisma.$queryRawUnsafe<{ reloptions: string[] }[]>(
    `select reloptions from pg_class where relname = 'delivery_${suffix}'`,
  );
  expect(table).toEqual({ reloptions: ["fillfactor=50"] });
});

test("partitions have the indexes of their tables, and no others", async () => {
  await run();
  const [row] = await db.database.prisma.$queryRaw<{ alone: number; indexes: number }[]>`
    select
      count(*) filter (where not exists (select from pg_inherits where inhrelid = indexrelid))::int as "alone",
      count(*)::int as "indexes"
    from pg_index join pg_class on pg_class.oid = indrelid where relname ~ '_[0-9]{8}$'`;
  // Three of the events, three of the deliveries, one of the attempts.
  expect(row).toEqual({ alone: 0, indexes: 17 * 7 });
});

test("several publishers at once make each day once, and none fails", async () => {
  await Promise.all([run(), run(), run()]);
  expect(await daysMade()).toHaveLength(17);
});

test("a row without a partition is refused as what PostgreSQL can't take now, and is stored when there is one", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const insert = () => insertDelivery(db.database.prisma, endpoint, { createdAt: new Date() });
  const error = await insert().catch((reason: unknown) => reason);
  expect([isPartitionMissing(error), isDatabaseOutage(error), isDataError(error)]).toEqual([true, true, false]);
  await run();
  const { id } = await insert();
  expect(await placeOf("delivery", "id", id)).toMatch(/_\d{8}$/);
});

test("partitions are made while a long transaction reads the tables, and no statement waits", async () => {
  const { prisma } = db.database;
  await run({ now: daysFromToday(-1) });
  const endpoint = await insertEndpoint(prisma);
  await prisma.$transaction(async (backup) => {
    await backup.$queryRaw`select count(*)::int from delivery`;
    await run();
    expect(await daysMade()).toHaveLength(18);
    await insertDelivery(prisma, endpoint, { createdAt: daysFromToday(8) });
  });
});

test("no partition is dropped while a long transaction reads the tables, and no statement waits", async () => {
  const { prisma, queries } = db.database;
  await run();
  const [first] = await made();
  const endpoint = await insertEndpoint(prisma);
  await prisma.$transaction(async (backup) => {
    await backup.$queryRaw`select count(*)::int from delivery`;
    await expect(dropPartitions(queries, first ?? { first: "" })).rejects.toMatchObject({ code: "55P03" });
    await insertDelivery(prisma, endpoint, { createdAt: new Date() });
  });
  expect(await dropPartitions(queries, first ?? { first: "" })).toBe(true);
  expect(await daysMade()).toHaveLength(16);
});

const broker = useBroker();
const start = () => startPublisher(serviceEnvironment(db.url, broker), { clock: steeredClock(new Date()) });

test("a publisher starts while a program keeps the tables locked, without partitions", async () => {
  const program = openDatabase(db.url, { poolSize: 1 });
  try {
    await program.prisma.$transaction(
      async (transaction) => {
        await transaction.$executeRaw`lock table delivery in share row exclusive mode`;
        const service = await start();
        expect(await made()).toEqual([]);
        await service.stop();
      },
      { timeout: 120_000 },
    );
  } finally {
    await program.close();
  }
});

test("a publisher has made its partitions before it takes events", async () => {
  const service = await start();
  try {
    expect(await made()).toHaveLength(17);
  } finally {
    await service.stop();
  }
});
