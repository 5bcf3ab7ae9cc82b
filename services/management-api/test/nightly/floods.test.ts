import { Prisma } from "@herald/common/database/generated/client";
import { openDatabase } from "@herald/common/database/open-database";
import { eventually } from "@herald/dev/harness/eventually";
import { lockWaiters, whileLocked as whileHeld } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { type Client, create, settings, useApi } from "../support/use-api.ts";

const api = useApi();

/** Holds what a statement locks, until `act` unlocks it or ends, so that each request that needs it waits, and burns no CPU. */
async function whileLocked(lock: string, act: (unlock: () => Promise<void>) => Promise<void>): Promise<void> {
  // The API keeps its connections.
  const holder = openDatabase(api.databaseUrl, { poolSize: 1 });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let acted = Promise.resolve();
  const held = whileHeld(holder.prisma, Prisma.raw(lock), () => {
    acted = act(async () => {
      release();
      await held;
    });
    return Promise.race([released, acted]);
  });
  await held.then(() => acted).finally(() => holder.close());
}

const tableLock = (table: string) => `lock table ${table} in access exclusive mode`;

// Each read that waits for PostgreSQL holds a connection. Without a limit, a hundred of one organization were a 503 for every
// other organization, for as long as PostgreSQL let them run.
test("a hundred slow reads of one organization leave connections to the others, and PostgreSQL ends them", async () => {
  const calm = await api.as({ organizationId: "calm" });
  await create(calm);
  const busy = await api.as({ organizationId: "busy" });
  await create(busy);
  await whileLocked(tableLock("due"), async (unlock) => {
    const flood = Array.from({ length: 100 }, () =>
      busy.get("/webhooks/overview").then(({ status, body }) => `${status} ${body.code}`),
    );
    await eventually(async () => expect(await lockWaiters(api.prisma)).toBe(3));
    // All of its places are taken. If all connections were, the pool would give up after five seconds, and these reads would get a 503.
    for (let round = 0; round < 3; round++) await calm.get("/webhooks").expect(200);
    // The lock is held until all are answered: those that PostgreSQL began have no more than their five seconds, and those
    // that wait for a place no more either.
    const answers = new Set(await Promise.all(flood));
    expect([...answers].sort()).toEqual(["429 too_many_requests", "503 read_out_of_time"]);
    await unlock();
    await busy.get("/webhooks/overview").expect(200);
  });
});

// The bound on one organization's reads bounded nothing together: four organizations held every connection.
test.each([4, 6, 12])(
  "regression: slow reads of %i organizations leave connections to a stranger's reads and writes",
  async (count) => {
    const stranger = await api.as({ organizationId: `stranger-${count}` });
    await create(stranger);
    const flooders: { client: Client; id: string }[] = [];
    for (let number = 0; number < count; number++) {
      const client = await api.as({ organizationId: `flooder-${count}-${number}` });
      flooders.push({ client, id: (await create(client)).endpoint.id });
    }
    await whileLocked(tableLock("resend"), async (unlock) => {
      let isStopped = false;
      const answers = new Set<string>();
      const floods = flooders.flatMap(({ client, id }) =>
        Array.from({ length: 3 }, async () => {
          while (!isStopped) {
            const { status, body } = await client.get(`/webhooks/${id}/resends`);
            answers.add(`${status} ${body.code}`);
          }
        }),
      );
      try {
        // All of the places that such reads share are taken, and stay so until PostgreSQL ends them.
        await eventually(async () => expect(await lockWaiters(api.prisma)).toBe(4));
        for (let round = 0; round < 3; round++) {
          await stranger.get("/webhooks").expect(200);
          await create(stranger);
        }
        // Requests that waited for a second without a place got a time to come again.
        await eventually(() => expect(answers).toContain("503 read_out_of_time"));
      } finally {
        isStopped = true;
        await unlock();
        await Promise.all(floods);
      }
    });
  },
);

test("a read that finds all places taken by other organizations is a 503 that says when to come again", async () => {
  const ids: { client: Client; id: string }[] = [];
  for (const organizationId of ["one", "two", "three", "four"]) {
    const client = await api.as({ organizationId });
    ids.push({ client, id: (await create(client)).endpoint.id });
  }
  const stranger = await api.as({ organizationId: "late" });
  const { endpoint } = await create(stranger);
  await whileLocked(tableLock("resend"), async (unlock) => {
    const held = ids.map(({ client, id }) => client.get(`/webhooks/${id}/resends`).then(({ status }) => status));
    await eventually(async () => expect(await lockWaiters(api.prisma)).toBe(4));
    const { status, body, headers } = await stranger.get(`/webhooks/${endpoint.id}/resends`);
    expect([status, body.code, headers["retry-after"]]).toEqual([503, "read_out_of_time", "1"]);
    await unlock();
    await Promise.all(held);
  });
});

// Creates of one organization wait for each other in PostgreSQL. Once each held a connection of the pool meanwhile, and a
// hundred at once were a 503 for every other organization.
test("regression: a hundred creates of one organization at once leave connections to the others", async () => {
  const calm = await api.as({ organizationId: "calm" });
  await create(calm);
  const busy = await api.as({ organizationId: "busy-creating" });
  const statuses: number[] = [];
  // The test holds the organization's lock, so all hundred have to wait.
  await whileLocked("select pg_advisory_xact_lock(hashtextextended('busy-creating', 0))", async (unlock) => {
    const flood = Array.from({ length: 100 }, () => busy.post("/webhooks", settings()).then(({ status }) => status));
    await eventually(async () => expect(await lockWaiters(api.prisma)).toBe(3));
    for (let round = 0; round < 3; round++) {
      // If all connections were taken, the pool would give up after five seconds, and these would get a 503.
      await calm.get("/webhooks").expect(200);
      await create(calm);
    }
    await eventually(async () => expect(await lockWaiters(api.prisma)).toBe(3));
    await unlock();
    statuses.push(...(await Promise.all(flood)));
  });
  // Where the machine is slow, some of the hundred have waited too long for the lock (503) or for their place (429).
  const created = statuses.filter((status) => status === 200).length;
  expect(statuses.filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
  expect((await busy.get("/webhooks")).body).toHaveLength(created);
});
