import { randomBytes } from "node:crypto";
import { openDatabase } from "@herald/common/database/open-database";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runHerald } from "./run-herald.ts";

/** May do in the schema what a migration does, and does not own the database. */
const user = `herald_guest_${randomBytes(4).toString("hex")}`;
const run = (sql: string) => db.database.prisma.$executeRawUnsafe(sql);
// Ahead of the hook that drops the database: jest runs these in their order.
afterAll(async () => {
  await run(`drop owned by ${user}`);
  await run(`drop role ${user}`);
});
const db = useDatabase();
beforeAll(async () => {
  await run(`create role ${user} login password 'password'`);
  await run(`grant create on schema public to ${user}`);
  await run(`grant select on _prisma_migrations to ${user}`);
});

const migrated = (url: string, settings: Record<string, string> = {}) =>
  runHerald(["migrate"], { DATABASE_URL: url, ...settings });

/** The settings of a session that is opened now. */
async function settingsOfSession(): Promise<Record<string, string>> {
  const database = openDatabase(db.url, { poolSize: 1 });
  try {
    const rows = await database.queries.$queryRaw<{ name: string; setting: string }[]>`
      select name, setting from pg_settings where name in ('statement_timeout', 'random_page_cost', 'plan_cache_mode')`;
    return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  } finally {
    await database.close();
  }
}

function withPoolerFlag(flag: "true" | "false"): string {
  const url = new URL(db.url);
  url.searchParams.set("pgbouncer", flag);
  return url.href;
}

test("herald migrate gives sessions the services' time for a statement, and a plan for each connection", async () => {
  const { code, stderr } = await migrated(withPoolerFlag("false"), { DATABASE_TIMEOUT_SECONDS: "45" });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(await settingsOfSession()).toEqual({
    statement_timeout: "45000",
    random_page_cost: "1.1",
    plan_cache_mode: "force_generic_plan",
  });
});

test("if no statement is prepared, herald migrate leaves the planning to PostgreSQL", async () => {
  expect(await migrated(withPoolerFlag("true"))).toMatchObject({ code: 0, stderr: "" });
  expect(await settingsOfSession()).toMatchObject({ statement_timeout: "30000", plan_cache_mode: "auto" });
});

test("if the user does not own the database, herald migrate says what its owner has to run", async () => {
  const url = new URL(withPoolerFlag("true"));
  Object.assign(url, { username: user, password: "password" });
  const { code, stdout, stderr } = await migrated(url.href, { DATABASE_TIMEOUT_SECONDS: "50" });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "The database is up to date.\n" });
  const statements = stderr.split("\n").filter((line) => line.startsWith("  alter database"));
  expect(statements).toHaveLength(1);
  for (const statement of statements) await run(statement);
  expect(await settingsOfSession()).toMatchObject({ statement_timeout: "50000" });
});

test("if the database takes no writes, herald migrate says what to do, and works when that is done", async () => {
  const name = new URL(db.url).pathname.slice(1);
  await run(`alter database "${name}" set default_transaction_read_only = on`);
  const { code, stderr } = await migrated(db.url).finally(() =>
    run(`alter database "${name}" reset default_transaction_read_only`),
  );
  const words =
    /default_transaction_read_only is on: nothing can be written\. `alter database \S+ reset default_transaction_read_only`/;
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(words) });
  expect(await migrated(db.url)).toMatchObject({ code: 0 });
});

test("herald migrate applies what is missing, and a second time nothing", async () => {
  await db.database.prisma.$executeRawUnsafe("drop schema public cascade");
  await db.database.prisma.$executeRawUnsafe("create schema public");
  const first = await runHerald(["migrate"], { DATABASE_URL: db.url });
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toMatch(/^Applied \d+_init\b/);
  expect(await runHerald(["migrate"], { DATABASE_URL: db.url })).toMatchObject({
    code: 0,
    stdout: "The database is up to date.\n",
    stderr: "",
    audit: { action: "migrate", details: { applied: [] } },
  });
});
