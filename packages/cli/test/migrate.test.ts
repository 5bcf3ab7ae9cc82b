import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { runHerald } from "./run-herald.ts";

const db = useDatabase();

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
