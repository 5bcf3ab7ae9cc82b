import { insertEndpoint } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { type Endpoint, losingAnswers, settlement, settling, type UnderWay } from "./settling.ts";

const db = useDatabase();
const { underWay, dispatcher, nextStart, settleAll } = settling(db);

/** What is told of an endpoint's deliveries: of one settlement each. */
const toldOf = ({ id }: Endpoint) =>
  db.database.prisma.exhaustion.findMany({ where: { endpointId: id }, orderBy: { firstAt: "asc" } });

/** The last attempt of a delivery, which fails. */
const last = (endpoint: Endpoint, current: UnderWay) =>
  settlement(endpoint, current, { succeeded: false, nextAttemptAt: null, startedAt: nextStart() });

test("§3.2/exhausted a settlement tells how many deliveries of each endpoint it gave up, and from when to when", async () => {
  const [one, other] = [await insertEndpoint(db.database.prisma), await insertEndpoint(db.database.prisma)];
  const ofOne = [last(one, await underWay(one, 5)), last(one, await underWay(one, 5))];
  const ofOther = last(other, await underWay(other, 5));
  const goesOn = settlement(other, await underWay(other, 4), { succeeded: false, startedAt: nextStart() });
  const succeeded = settlement(other, await underWay(other, 5), { startedAt: nextStart() });
  await settleAll([...ofOne, ofOther, goesOn, succeeded]);
  expect(await toldOf(one)).toMatchObject([
    {
      organizationId: one.organizationId,
      endpointName: one.name,
      endpointUrl: one.url,
      deliveries: 2,
      firstAt: ofOne[0]?.startedAt,
      lastAt: ofOne[1]?.startedAt,
    },
  ]);
  expect(await toldOf(other)).toMatchObject([{ deliveries: 1, firstAt: ofOther.startedAt, lastAt: ofOther.startedAt }]);
});

test("a delivery whose settlement is written again, since its answer was lost, is told once", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const { settle, health } = dispatcher(
    {},
    losingAnswers(db.database.queries, () => true),
  );
  await settle(last(endpoint, await underWay(endpoint, 5)));
  await health.drained();
  expect(await toldOf(endpoint)).toMatchObject([{ deliveries: 1 }]);
});

test("a settlement that fails tells nothing, and its repetition does", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const exhausted = last(endpoint, await underWay(endpoint, 5));
  await expect(settleAll([{ ...exhausted, errorSummary: "\u0000" }])).rejects.toThrow();
  expect(await toldOf(endpoint)).toEqual([]);
  await settleAll([exhausted]);
  expect(await toldOf(endpoint)).toMatchObject([{ deliveries: 1 }]);
});

test("two dispatchers that settle one delivery tell of it once", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  const exhausted = last(endpoint, await underWay(endpoint, 5));
  await Promise.all([settleAll([exhausted]), settleAll([exhausted])]);
  expect(await toldOf(endpoint)).toMatchObject([{ deliveries: 1 }]);
});
