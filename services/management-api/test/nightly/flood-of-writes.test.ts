import { openDatabase } from "@herald/common/database/open-database";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { create, settings, useApi } from "../support/use-api.ts";

const api = useApi();

// Creates of one organization wait for each other in PostgreSQL. Once each held a connection of the pool meanwhile, and a
// hundred at once were a 503 for every other organization.
test("regression: a hundred creates of one organization at once leave connections to the others", async () => {
  const calm = await api.as({ organizationId: "calm" });
  await create(calm);
  const busy = await api.as({ organizationId: "busy" });
  // The test holds the organization's lock, so all hundred have to wait.
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const holder = openDatabase(api.databaseUrl, { poolSize: 1 });
  const waiting = async () => {
    const [row] = await api.prisma.$queryRaw<{ count: number }[]>`
      select count(*)::int as "count" from pg_locks where not granted and locktype = 'advisory'`;
    return row?.count;
  };
  const statuses: number[] = [];
  try {
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
    const held = holder.prisma.$transaction(
      async (transaction) => {
        await transaction.$executeRaw`select pg_advisory_xact_lock(hashtextextended('busy', 0))`;
        locked();
        await released;
      },
      { maxWait: 100_000, timeout: 100_000 },
    );
    await Promise.race([isLocked, held]);
    const flood = Array.from({ length: 100 }, () => busy.post("/webhooks", settings()).then(({ status }) => status));
    await eventually(async () => expect(await waiting()).toBe(3));
    for (let round = 0; round < 3; round++) {
      // If all connections were taken, the pool would give up after five seconds, and these would get a 503.
      await calm.get("/webhooks").expect(200);
      await create(calm);
    }
    await eventually(async () => expect(await waiting()).toBe(3));
    release();
    await held;
    statuses.push(...(await Promise.all(flood)));
  } finally {
    release();
    await holder.close();
  }
  // Where the machine is slow, some of the hundred have waited too long for the lock (503) or for their place (429).
  const created = statuses.filter((status) => status === 200).length;
  expect(statuses.filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
  expect((await busy.get("/webhooks")).body).toHaveLength(created);
});
