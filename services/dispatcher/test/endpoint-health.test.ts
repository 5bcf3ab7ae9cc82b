import { insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { useDatabase, whileLocked } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  DISABLE_AFTER,
  type Endpoint,
  FAILING_AFTER,
  lockOf,
  losingAnswers,
  NOW,
  settlement,
  settling,
  type UnderWay,
} from "./settling.ts";

const db = useDatabase();
const { underWay, dispatcher, nextStart, pace, settleAll, settleRun, endpointOf } = settling(db);

test("§3.1/failures §3.1/several §9.1 five consecutive failures, over several deliveries, disable an endpoint and change its version, and the reason is kept", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const first = await settleRun(endpoint, [false, false, false]);
  const { revision } = endpoint;
  const counted = { enabled: true, consecutiveFailures: 3, updatedAt: ROW_TIME, revision };
  expect(await endpointOf(endpoint.id)).toMatchObject(counted);
  const second = await settleRun(endpoint, [false, false]);
  const attempts = [...first, ...second].map(({ deliveryId }) => `${deliveryId}/1`);
  expect(await endpointOf(endpoint.id)).toMatchObject({
    enabled: false,
    consecutiveFailures: 5,
    disabledReason: "failures",
    disabledAt: NOW,
    updatedAt: NOW,
    revision: revision + 1n,
    failureRun: attempts,
  });
});

test("the endpoint's changes show that Herald disabled it, and no failures before", async () => {
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
      request: null,
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

test.each(["resolver_failed", "proxy_failed", "interrupted"] as const)(
  "a failure of the kind %s counts against no endpoint",
  async (failureKind) => {
    const endpoint = await insertEndpoint(db.database.prisma);
    const failed = { succeeded: false, failureKind };
    await settleAll([settlement(endpoint, await underWay(endpoint), failed)]);
    expect((await endpointOf(endpoint.id)).consecutiveFailures).toBe(0);
  },
);

test("a success whose failure before is not written yet still ends the run", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const { settle, health } = dispatcher();
  await whileLocked(db.database.prisma, lockOf.endpoint(endpoint), async () => {
    await settle(settlement(endpoint, await underWay(endpoint), { succeeded: false }));
    await settle(settlement(endpoint, await underWay(endpoint)));
  });
  await health.drained();
  expect(await endpointOf(endpoint.id)).toMatchObject({ consecutiveFailures: 0, failureRun: [] });
});

test("the health of a deleted endpoint is dropped", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const { settle, health, lines } = dispatcher();
  const settlements = [settlement(endpoint, await underWay(endpoint), { succeeded: false })];
  await db.database.prisma.webhookEndpoint.delete({ where: { id: endpoint.id } });
  await Promise.all(settlements.map(settle));
  await health.drained();
  expect(lines).toEqual([]);
});

test("a stop does not wait for an endpoint whose row stays locked", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const { settle, health, stop } = dispatcher();
  await whileLocked(db.database.prisma, lockOf.endpoint(endpoint), async () => {
    await settle(settlement(endpoint, await underWay(endpoint), { succeeded: false }));
    const drained = health.drained();
    stop();
    await drained;
  });
});

const MINUTE_MS = 60_000;

const noticesOf = ({ id }: Endpoint) =>
  db.database.prisma.notice.findMany({ where: { endpointId: id }, orderBy: { id: "asc" } });
const typesOf = async (endpoint: Endpoint) => (await noticesOf(endpoint)).map(({ type }) => type);

test("the third failure in a row leaves a notice, with the endpoint as it is and the attempts behind it", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const first = await settleRun(endpoint, [false, false]);
  expect(await noticesOf(endpoint)).toEqual([]);
  const second = await settleRun(endpoint, [false]);
  expect(await noticesOf(endpoint)).toMatchObject([
    {
      type: "failing",
      organizationId: endpoint.organizationId,
      endpointName: endpoint.name,
      endpointUrl: endpoint.url,
      failureRun: [...first, ...second].map(({ deliveryId }) => `${deliveryId}/1`),
      occurredAt: NOW,
      publishAt: NOW,
    },
  ]);
});

test("a recovery whose answer is lost has one notice", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await settleRun(endpoint, [false, false, false]);
  const { settle, health } = dispatcher(losingAnswers(db.database.queries, (text) => text.includes("notice")));
  await settle(settlement(endpoint, await underWay(endpoint), { startedAt: nextStart() }));
  await health.drained();
  expect(await typesOf(endpoint)).toEqual(["failing", "recovered"]);
});

test("two dispatchers that see an endpoint succeed again leave one notice of its recovery", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await settleRun(endpoint, [false, false, false]);
  const both = [dispatcher(), dispatcher()];
  const begun = [await underWay(endpoint), await underWay(endpoint)];
  await Promise.all(
    both.map(({ settle }, index) => settle(settlement(endpoint, begun[index] as UnderWay, { startedAt: nextStart() }))),
  );
  await Promise.all(both.map(({ health }) => health.drained()));
  expect(await typesOf(endpoint)).toEqual(["failing", "recovered"]);
});

test("a settlement that fails leaves no notice, and its repetition leaves one", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const begun = await Promise.all([1, 2, 3].map(() => underWay(endpoint)));
  const settlements = begun.map((attempt) =>
    settlement(endpoint, attempt, { succeeded: false, startedAt: nextStart() }),
  );
  const unwritable = settlements.map((each) => ({ ...each, errorSummary: "\u0000" }));
  await expect(settleAll(unwritable)).rejects.toThrow();
  expect(await typesOf(endpoint)).toEqual([]);
  await settleAll(settlements);
  expect(await typesOf(endpoint)).toEqual(["failing"]);
});

test("§3.1/success an endpoint's health and its notices follow the order in which attempts ended, however they are batched (property)", async () => {
  // Mostly failures, since their runs matter; and any others.
  const failsMostly = fc.nat(4).map((number) => number === 0);
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.array(failsMostly, { maxLength: 14 }), fc.array(fc.boolean(), { maxLength: 14 })),
      fc.integer({ min: 1, max: 14 }),
      fc.constantFrom(1, 10, 25),
      async (results, size, minutes) => {
        pace(minutes * MINUTE_MS);
        const endpoint = await insertEndpoint(db.database.prisma);
        for (let from = 0; from < results.length; from += size) {
          // A later batch holds results of attempts that began before an earlier one disabled the endpoint.
          await settleRun(endpoint, results.slice(from, from + size));
        }
        const { enabled, consecutiveFailures, failureRun, failedAt } = await endpointOf(endpoint.id);
        expect({ enabled, consecutiveFailures, notices: await typesOf(endpoint) }).toEqual(model(results, minutes));
        expect(failureRun).toHaveLength(consecutiveFailures);
        expect(failedAt === null).toBe(consecutiveFailures === 0);
      },
    ),
    { numRuns: 80 },
  );
});

function model(results: readonly boolean[], minutes: number) {
  const notices: string[] = [];
  let consecutiveFailures = 0;
  let toldAt: number | null = null;
  let isTold = false;
  for (const [index, succeeded] of results.entries()) {
    if (succeeded && isTold) notices.push("recovered");
    isTold &&= !succeeded;
    consecutiveFailures = succeeded ? 0 : consecutiveFailures + 1;
    if (consecutiveFailures === FAILING_AFTER && (toldAt === null || (index - toldAt) * minutes >= 60)) {
      notices.push("failing");
      toldAt = index;
      isTold = true;
    }
    if (consecutiveFailures === DISABLE_AFTER) {
      return { enabled: false, consecutiveFailures, notices: [...notices, "disabled"] };
    }
  }
  return { enabled: true, consecutiveFailures, notices };
}

/** The rows for notices of an endpoint's deliveries: one for each settlement. */
const recordedOf = ({ id }: Endpoint) =>
  db.database.prisma.exhaustion.findMany({ where: { endpointId: id }, orderBy: { firstAt: "asc" } });

/** The last attempt of a delivery, which fails. */
const last = (endpoint: Endpoint, current: UnderWay) =>
  settlement(endpoint, current, { succeeded: false, nextAttemptAt: null, startedAt: nextStart() });

test("§3.2/exhausted a settlement records how many deliveries of each endpoint it gave up, and from when to when", async () => {
  const [one, other] = [await insertEndpoint(db.database.prisma), await insertEndpoint(db.database.prisma)];
  const ofOne = [last(one, await underWay(one, 5)), last(one, await underWay(one, 5))];
  const ofOther = last(other, await underWay(other, 5));
  const goesOn = settlement(other, await underWay(other, 4), { succeeded: false, startedAt: nextStart() });
  const succeeded = settlement(other, await underWay(other, 5), { startedAt: nextStart() });
  await settleAll([...ofOne, ofOther, goesOn, succeeded]);
  expect(await recordedOf(one)).toMatchObject([
    {
      organizationId: one.organizationId,
      endpointName: one.name,
      endpointUrl: one.url,
      deliveries: 2,
      firstAt: ofOne[0]?.startedAt,
      lastAt: ofOne[1]?.startedAt,
    },
  ]);
  expect(await recordedOf(other)).toMatchObject([
    { deliveries: 1, firstAt: ofOther.startedAt, lastAt: ofOther.startedAt },
  ]);
});

test("two dispatchers that settle one delivery record it once", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const exhausted = last(endpoint, await underWay(endpoint, 5));
  await Promise.all([settleAll([exhausted]), settleAll([exhausted])]);
  expect(await recordedOf(endpoint)).toMatchObject([{ deliveries: 1 }]);
});
