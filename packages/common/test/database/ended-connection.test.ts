import { startEndingPostgres } from "@herald/dev/harness/ending-postgres";
import { expect, test } from "@jest/globals";
import { isDatabaseOutage } from "../../src/database/errors.ts";
import { openDatabase } from "../../src/database/open-database.ts";

test("a connection that ends in the moment in which it is handed out fails the query, not the process", async () => {
  const server = await startEndingPostgres();
  const database = openDatabase(server.url);
  const asked = [
    () => database.readsWithin(1_000).$queryRaw`select 1`,
    () => database.queries.$queryRaw`select 1`,
    () => database.prisma.$queryRaw`select 1`,
    () => database.prisma.$transaction((transaction) => transaction.$queryRaw`select 1`),
    () => database.ping(),
  ];
  for (const ask of asked) {
    const error = await ask().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeDefined();
    expect(isDatabaseOutage(error)).toBe(true);
  }
  await database.close();
  await server.close();
});
