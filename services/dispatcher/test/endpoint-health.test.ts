import { insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { DISABLE_AFTER, EARLIER, NOW, settlement, settling } from "./settling.ts";

const db = useDatabase();
const { underWay, dispatcher, settleAll, settleRun } = settling(db);

/** SPEC's five failures, with these pauses between them. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000];

const endpointOf = (id: string) => db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });

test("§3.1/failures §3.1/several five consecutive failures, over several deliveries, disable it, and the reason is kept", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const first = await settleRun(endpoint, [false, false, false]);
  expect(await endpointOf(endpoint.id)).toMatchObject({ enabled: true, consecutiveFailures: 3, updatedAt: ROW_TIME });
  const second = await settleRun(endpoint, [false, false]);
  const attempts = [...first, ...second].map(({ deliveryId }) => `${deliveryId}/1`);
  expect(await endpointOf(endpoint.id)).toMatchObject({
    enabled: false,
    consecutiveFailures: 5,
    disabledReason: "failures",
    disabledAt: NOW,
    updatedAt: NOW,
    failureRun: attempts,
  });
});

test("§3.1/success any success resets the count", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await settleRun(endpoint, [false, false, false, false]);
  await settleRun(endpoint, [true]);
  expect(await endpointOf(endpoint.id)).toMatchObject({
    enabled: true,
    consecutiveFailures: 0,
    failureRun: [],
    failedAt: null,
    pausedUntil: null,
  });
  await settleRun(endpoint, [false, false, false, false]);
  expect(await endpointOf(endpoint.id)).toMatchObject({ enabled: true, consecutiveFailures: 4 });
});

test("§9.1 disabling changes the version, counting does not", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await settleRun(endpoint, [false, false, false, false]);
  expect((await endpointOf(endpoint.id)).revision).toBe(endpoint.revision);
  await settleRun(endpoint, [false]);
  expect((await endpointOf(endpoint.id)).revision).toBe(endpoint.revision + 1n);
});

test("the endpoint's changes tell that Herald disabled it, and nothing of failures before", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const changes = () => db.database.prisma.endpointChange.findMany({ where: { endpointId: endpoint.id } });
  await settleRun(endpoint, [false, false, false, false]);
  expect(await changes()).toEqual([]);
  await settleRun(endpoint, [false]);
  const { name, url, events } = endpoint;
  expect(await changes()).toEqual([
    {
      id: expect.any(String),
      organizationId: endpoint.organizationId,
      endpointId: endpoint.id,
      endpointName: name,
      revision: endpoint.revision + 1n,
      changedAt: NOW,
      changedBy: "herald",
      subject: null,
      name: null,
      before: { name, url, events, enabled: true },
      after: { name, url, events, enabled: false },
      secretReplaced: false,
      resent: null,
      delivered: null,
    },
  ]);
});

test("a healthy endpoint's row is not written", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const rowVersion = () =>
    db.database.prisma.$queryRaw`select xmin::text from webhook_endpoint where id = ${endpoint.id}::uuid`;
  const before = await rowVersion();
  await settleRun(endpoint, [true, true]);
  expect(await rowVersion()).toEqual(before);
});

test("an endpoint's health follows the order in which attempts ended, however they are batched (property)", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { maxLength: 14 }),
      fc.integer({ min: 1, max: 14 }),
      async (results, size) => {
        const endpoint = await insertEndpoint(db.database.prisma);
        for (let from = 0; from < results.length; from += size) {
          // A later batch holds results of attempts that began before an earlier one disabled the endpoint.
          await settleRun(endpoint, results.slice(from, from + size));
        }
        const { enabled, consecutiveFailures, failureRun } = await endpointOf(endpoint.id);
        expect({ enabled, consecutiveFailures }).toEqual(model(results));
        expect(failureRun).toHaveLength(consecutiveFailures);
      },
    ),
    { numRuns: 40 },
  );
});

function model(results: readonly boolean[]) {
  let consecutiveFailures = 0;
  for (const succeeded of results) {
    consecutiveFailures = succeeded ? 0 : consecutiveFailures + 1;
    if (consecutiveFailures === DISABLE_AFTER) return { enabled: false, consecutiveFailures };
  }
  return { enabled: true, consecutiveFailures };
}

test("§3.1/failures five failures, each after the pause of the one before, disable it, and no pause is left", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  for (const [index, startMs] of [0, 1_012, 3_024, 7_036, 15_048].entries()) {
    // One that a dispatcher began during the pause, since it did not know of the failure, does not count.
    for (const early of [0, 500]) {
      const startedAt = new Date(NOW.getTime() + startMs + early);
      await settleAll([settlement(endpoint, await underWay(endpoint), { succeeded: false, startedAt })], {
        pausesMs: PAUSES_MS,
      });
    }
    expect(await endpointOf(endpoint.id)).toMatchObject({ consecutiveFailures: index + 1, enabled: index < 4 });
  }
  expect(await endpointOf(endpoint.id)).toMatchObject({ disabledReason: "failures", pausedUntil: null });
});

test.each(["resolver_failed", "proxy_failed"] as const)(
  "a failure of the kind %s counts against no endpoint",
  async (failureKind) => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const failed = { succeeded: false, failureKind };
    await settleAll([settlement(endpoint, await underWay(endpoint), failed)]);
    expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(0);
  },
);

test("a success whose failure before is not written yet still ends the run", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const { settle, health } = dispatcher();
  await prisma.$transaction(
    async (transaction) => {
      await transaction.$queryRaw`select 1 from webhook_endpoint where id = ${endpoint.id}::uuid for update`;
      await settle(settlement(endpoint, await underWay(endpoint), { succeeded: false }));
      await settle(settlement(endpoint, await underWay(endpoint)));
    },
    { timeout: 60_000 },
  );
  await health.drained();
  expect(await endpointOf(endpoint.id)).toMatchObject({ consecutiveFailures: 0, failureRun: [] });
});

test("the health of a deleted endpoint is dropped", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const { settle, health, errors } = dispatcher();
  const settlements = [settlement(endpoint, await underWay(endpoint), { succeeded: false })];
  await db.database.prisma.webhookEndpoint.delete({ where: { id: endpoint.id } });
  await Promise.all(settlements.map(settle));
  await health.drained();
  expect(errors).toEqual([]);
});

test("a stop does not wait for an endpoint whose row stays locked", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const { settle, health, stop } = dispatcher();
  await prisma.$transaction(
    async (transaction) => {
      await transaction.$queryRaw`select 1 from webhook_endpoint where id = ${endpoint.id}::uuid for update`;
      await settle(settlement(endpoint, await underWay(endpoint), { succeeded: false }));
      const drained = health.drained();
      stop();
      await drained;
    },
    { timeout: 60_000 },
  );
});

test("an attempt that was given up after its interruptions does not count against the endpoint", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const attempt = await underWay(endpoint);
  const givenUp = { succeeded: false, failureKind: "interrupted" as const, nextAttemptAt: null };
  await settleAll([settlement(endpoint, attempt, givenUp)]);
  expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(0);
});

test("a failure that a success of the same delivery overtook does not count against the endpoint", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const attempt = await underWay(endpoint);
  const older = { ...attempt, epoch: EARLIER };
  await settleAll([settlement(endpoint, older), settlement(endpoint, attempt, { succeeded: false })]);
  expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(0);
});
