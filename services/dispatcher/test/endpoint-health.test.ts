import { insertEndpoint } from "@herald/testkit/harness/rows";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { DISABLE_AFTER, NOW, settlement, settling } from "./settling.ts";

const db = useDatabase();
const { claimedDelivery, settleAll, settleRun } = settling(db);

const endpointOf = (id: string) => db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });

test("§3.1/failures §3.1/several five consecutive failures, over several deliveries, disable it, and the reason is kept", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const first = await settleRun(endpoint, [false, false, false]);
  expect(first.changed).toEqual([
    { endpointId: endpoint.id, organizationId: endpoint.organizationId, consecutiveFailures: 3, disabled: false },
  ]);
  const second = await settleRun(endpoint, [false, false]);
  expect(second.changed).toMatchObject([{ consecutiveFailures: 5, disabled: true }]);
  const attempts = [...first.settlements, ...second.settlements].map(({ deliveryId }) => `${deliveryId}/1`);
  expect(await endpointOf(endpoint.id)).toMatchObject({
    enabled: false,
    consecutiveFailures: 5,
    disabledReason: "failures",
    disabledAt: NOW,
    failureRun: attempts,
  });
});

test("§3.1/success any success resets the count", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await settleRun(endpoint, [false, false, false, false]);
  await settleRun(endpoint, [true]);
  expect(await endpointOf(endpoint.id)).toMatchObject({ enabled: true, consecutiveFailures: 0, failureRun: [] });
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

test("a result from before the latest edit changes its delivery and not the endpoint's count", async () => {
  const endpoint = await insertEndpoint(db.database.prisma, { revision: 7n });
  const { id } = await claimedDelivery(endpoint);
  const changed = await settleAll([settlement(endpoint, id, { revision: 6n, succeeded: false })]);
  expect(changed).toEqual([]);
  expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(0);
  expect((await db.database.prisma.delivery.findUniqueOrThrow({ where: { id } })).statusCode).toBe(500);
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
          // A later batch holds results that were claimed before an earlier one disabled the endpoint.
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

test("two dispatchers that settle the same endpoints at once lose no failure", async () => {
  const endpoints = await Promise.all([1, 2, 3].map(() => insertEndpoint(db.database.prisma)));
  await Promise.all(
    [endpoints, endpoints.toReversed()].map(async (order) => {
      for (let round = 0; round < 2; round++) {
        const settlements = [];
        for (const endpoint of order) {
          const { id } = await claimedDelivery(endpoint);
          settlements.push(settlement(endpoint, id, { succeeded: false }));
        }
        await settleAll(settlements);
      }
    }),
  );
  for (const { id } of endpoints) expect((await endpointOf(id)).consecutiveFailures).toBe(4);
});
