import { openDatabase } from "@herald/common/database/open-database";
import { eventually } from "@herald/testkit/harness/eventually";
import { expect, test } from "@jest/globals";
import { create } from "../support/endpoints.ts";
import { useApi } from "../support/use-api.ts";

const api = useApi();

// Each read that waits for PostgreSQL holds a connection. Without a limit, a hundred of one organization were a 503 for every
// other organization, for as long as PostgreSQL let them run.
test("a hundred slow reads of one organization leave connections to the others, and PostgreSQL ends them", async () => {
  const calm = await api.as({ organizationId: "calm" });
  await create(calm);
  const busy = await api.as({ organizationId: "busy" });
  await create(busy);
  // The test holds a table that overviews read, so all hundred have to wait.
  const holder = openDatabase(api.databaseUrl, { poolSize: 1 });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const waiting = async () => {
    const [row] = await api.prisma.$queryRaw<{ count: number }[]>`
      select count(*)::int as "count" from pg_locks where not granted and relation = 'due'::regclass`;
    return row?.count;
  };
  try {
    let locked = () => {};
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve;
    });
    const held = holder.prisma.$transaction(
      async (transaction) => {
        await transaction.$executeRaw`lock table due in access exclusive mode`;
        locked();
        await released;
      },
      { maxWait: 100_000, timeout: 100_000 },
    );
    await Promise.race([isLocked, held]);
    const flood = Array.from({ length: 100 }, () =>
      busy.get("/webhooks/overview").then(({ status, body }) => `${status} ${body.code}`),
    );
    await eventually(async () => expect(await waiting()).toBe(3));
    // Were all connections taken, the pool would give up after five seconds, and these would be a 503.
    for (let round = 0; round < 3; round++) await calm.get("/webhooks").expect(200);
    // The lock is held until all are answered: those that PostgreSQL began have no more than their five seconds, and those
    // that wait for a place no more either.
    const answers = new Set(await Promise.all(flood));
    expect([...answers].sort()).toEqual(["429 too_many_requests", "503 read_out_of_time"]);
    release();
    await held;
    await busy.get("/webhooks/overview").expect(200);
  } finally {
    release();
    await holder.close();
  }
});
