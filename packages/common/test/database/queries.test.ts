import { randomUUID } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import pg from "pg";
import { isDatabaseOutage, isOutOfTime, sqlStateOf } from "../../src/database/errors.ts";
import { Prisma } from "../../src/database/generated/client.ts";
import { openDatabase } from "../../src/database/open-database.ts";
import { directQueries } from "../../src/database/queries.ts";

const db = useDatabase({ migrated: false });

const ID = randomUUID();
const TIME = new Date("2026-03-01T12:00:00.123Z");

test("the direct way brings what Prisma's brings, for every type that a statement uses", async () => {
  const read = (queries: Pick<typeof db.database.queries, "$queryRaw">) =>
    queries.$queryRaw<unknown>`
      select ${ID}::uuid as "id", ${TIME}::timestamptz as "time", ${7}::int as "number", ${2n ** 60n}::bigint as "large",
        ${true}::boolean as "flag", ${'é"\\,{}'}::text as "text", null::text as "nothing", count(*) as "count",
        ${["a", 'b"\\,{}']}::text[] as "texts", ${[ID]}::uuid[] as "ids", array_agg(two.time) as "times",
        json_build_object('a', ${1}::int) as "json"
      from unnest(${[ID, ID]}::uuid[], ${[TIME, null]}::timestamptz[], ${[true, false]}::boolean[]) as two (id, time, flag)
      where ${Prisma.sql`id = ${ID}::uuid`}`;
  const direct = await read(db.database.queries);
  expect(direct).toEqual([
    {
      id: ID,
      time: TIME,
      number: 7,
      large: 2n ** 60n,
      flag: true,
      text: 'é"\\,{}',
      nothing: null,
      count: 2n,
      texts: ["a", 'b"\\,{}'],
      ids: [ID],
      times: [TIME, null],
      json: { a: 1 },
    },
  ]);
  expect(direct).toEqual(await read(db.database.prisma));
  expect(direct).toEqual(await read(db.database.readsWithin(5_000)));
});

test("a change says how many rows it changed", async () => {
  await db.database.queries.$executeRaw`create table thing (id int)`;
  expect(await db.database.queries.$executeRaw`insert into thing select generate_series(1, ${3}::int)`).toBe(3);
});

test("an error tells PostgreSQL's code, and a server that is away is known as an outage", async () => {
  const refused = await db.database.queries.$queryRaw`select 1 / ${0}::int`.catch((error: unknown) => error);
  expect(sqlStateOf(refused)).toBe("22012");
  expect(isDatabaseOutage(refused)).toBe(false);
  const away = openDatabase("postgresql://nobody@127.0.0.1:1/none");
  const error = await away.queries.$queryRaw`select 1`.catch((reason: unknown) => reason);
  await away.close();
  expect(isDatabaseOutage(error)).toBe(true);
});

test("a read within a time is ended by PostgreSQL, may change nothing, and leaves nothing to the next statement", async () => {
  const database = openDatabase(db.url, { poolSize: 1 });
  try {
    const reads = database.readsWithin(50);
    const backend = () => database.queries.$queryRaw`select current_setting('statement_timeout') as timeout`;
    const before = await backend();
    const error = await reads.$queryRaw`select pg_sleep(100)`.catch((reason: unknown) => reason);
    expect([isOutOfTime(error), isDatabaseOutage(error)]).toEqual([true, true]);
    await expect(reads.$queryRaw`create table written ()`).rejects.toThrow("read-only transaction");
    expect(await backend()).toEqual(before);
  } finally {
    await database.close();
  }
});

test.each<[string, string, (database: typeof db.database) => Pick<typeof db.database.queries, "$queryRaw">]>([
  ["direct", "does not fail", ({ queries }) => queries],
  ["bounded", "does not fail", ({ readsWithin }) => readsWithin(5_000)],
  ["Prisma's", "fails once", ({ prisma }) => prisma],
])("regression: a %s statement whose column has another type since it was prepared %s", async (_way, outcome, of) => {
  const database = openDatabase(db.url, { poolSize: 1 });
  const { queries } = db.database;
  await queries.$executeRaw`create table widened (name text)`;
  try {
    const read = () => of(database).$queryRaw`select name from widened`;
    await read();
    await queries.$executeRaw`alter table widened alter name type varchar(9)`;
    if (outcome === "fails once") expect(sqlStateOf(await read().catch((error: unknown) => error))).toBe("0A000");
    expect(await read()).toEqual([]);
  } finally {
    await queries.$executeRaw`drop table widened`;
    await database.close();
  }
});

test.each<[string, (database: typeof db.database, statement: Prisma.Sql) => Promise<unknown>]>([
  ["direct statements", ({ queries }, statement) => queries.$executeRaw`${statement}`],
  ["Prisma's statements", ({ prisma }, statement) => prisma.$executeRaw`${statement}`],
  [
    "Prisma's transactions",
    ({ prisma }, statement) => prisma.$transaction((within) => within.$executeRaw`${statement}`),
  ],
])("regression: %s fail once over a connection that became read-only", async (_way, run) => {
  // A primary that became a standby keeps its connections, and new ones go to its successor.
  await db.database.queries.$executeRaw`create table if not exists replicated ()`;
  const database = openDatabase(db.url, { poolSize: 1 });
  try {
    await database.queries.$executeRaw`set session characteristics as transaction read only`;
    const write = () => run(database, Prisma.sql`delete from replicated`);
    expect(sqlStateOf(await write().catch((error: unknown) => error))).toBe("25006");
    await write();
  } finally {
    await database.close();
  }
});

test("a bounded read whose connection breaks fails, and the next one works", async () => {
  const reads = db.database.readsWithin(60_000);
  const broken = reads.$queryRaw`select pg_sleep(50) as "a read that is cut off"`;
  const outcome = broken.catch((error: unknown) => error);
  await eventually(async () => {
    const cut = await db.database.queries.$queryRaw<{ ended: boolean }[]>`
      select pg_terminate_backend(pid) as "ended" from pg_stat_activity
      where query like '%a read that is cut off%' and pid <> pg_backend_pid()`;
    expect(cut).toEqual([{ ended: true }]);
  });
  expect(isDatabaseOutage(await outcome)).toBe(true);
  expect(await reads.$queryRaw`select 1 as "one"`).toEqual([{ one: 1 }]);
});

test("regression: if the user's isolation is repeatable read, a statement that another one overtakes is run again", async () => {
  const { queries, prisma } = db.database;
  await queries.$executeRaw`create table counter as select 0 as value`;
  const options = "-c default_transaction_isolation=repeatable\\ read";
  const pool = new pg.Pool({ connectionString: db.url, options });
  const strict = directQueries(pool, () => "");
  let overtaken: Promise<number> | undefined;
  await prisma.$transaction(async (transaction) => {
    await transaction.$executeRaw`update counter set value = value + 1`;
    overtaken = strict.$executeRaw`update counter set value = value + 1`;
    await eventually(async () => {
      const waiting = await queries.$queryRaw<unknown[]>`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      expect(waiting).toHaveLength(1);
    });
  });
  expect(await overtaken).toBe(1);
  expect(await queries.$queryRaw`select value from counter`).toEqual([{ value: 2 }]);
  await pool.end();
});

test("parameters arrive as pg writes them itself, whatever is in them", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }).map((value) => value.replaceAll("\u0000", "")),
    fc.constantFrom('"', "\\", "NULL", "null", "", " ", "{", "}", ",", "\\x41", '\\"', "é€😀"),
  );
  const time = fc.date({ min: new Date("-002000-01-01"), max: new Date("+012000-01-01"), noInvalidDate: true });
  const arrays = fc.record({
    texts: fc.array(fc.option(text)),
    times: fc.array(fc.option(time)),
    numbers: fc.array(fc.option(fc.double({ noDefaultInfinity: true }))),
    large: fc.array(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)),
    flags: fc.array(fc.option(fc.boolean())),
    nested: fc.array(fc.tuple(text, text)),
    bytes: fc.array(fc.uint8Array().map((bytes) => Buffer.from(bytes))),
    time: fc.option(time),
  });
  const pool = new pg.Pool({ connectionString: db.url, max: 1 });
  try {
    await fc.assert(
      fc.asyncProperty(arrays, async ({ texts, times, numbers, large, flags, nested, bytes, time }) => {
        const statement = Prisma.sql`select (${texts}::text[])::text as texts, (${times}::timestamptz[])::text as times,
          (${numbers}::float8[])::text as numbers, (${large}::bigint[])::text as large, (${flags}::boolean[])::text as flags,
          (${nested}::text[])::text as nested, (${bytes}::bytea[])::text as bytes, (${time}::timestamptz)::text as time`;
        const { rows } = await pool.query(statement.text, statement.values);
        expect(await directQueries(pool, () => "same").$queryRaw`${statement}`).toEqual(rows);
      }),
      { numRuns: 300 },
    );
  } finally {
    await pool.end();
  }
});
