import { insertEndpoint } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  DISABLE_AFTER,
  type Endpoint,
  FAILING_AFTER,
  losingAnswers,
  NOW,
  settlement,
  settling,
  type UnderWay,
} from "./settling.ts";

const db = useDatabase();
const { underWay, dispatcher, nextStart, pace, settleAll, settleRun } = settling(db);
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
  const { settle, health } = dispatcher(
    {},
    losingAnswers(db.database.queries, (text) => text.includes("notice")),
  );
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

test("where failing is set to no less than disabling, only the disabling is told", async () => {
  for (const failingAfter of [5, 6]) {
    const endpoint = await insertEndpoint(db.database.prisma);
    await settleRun(endpoint, [false, false, false, false, false, false], { failingAfter });
    expect(await typesOf(endpoint)).toEqual(["disabled"]);
  }
});

test("an endpoint with more failures than a new setting allows gets the notice of its disabling at its next failure", async () => {
  const endpoint = await insertEndpoint(db.database.prisma);
  await settleRun(endpoint, [false, false, false, false]);
  await settleRun(endpoint, [false], { failingAfter: 1, disableAfter: 2 });
  expect(await typesOf(endpoint)).toEqual(["failing", "disabled"]);
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

test("the same results lead to the same notices, however they are batched (property)", async () => {
  await fc.assert(
    fc.asyncProperty(
      // Mostly failures, since it is their runs that matter.
      fc.array(
        fc.nat(4).map((number) => number === 0),
        { maxLength: 14 },
      ),
      fc.integer({ min: 1, max: 14 }),
      fc.constantFrom(1, 10, 25),
      async (results, size, minutes) => {
        pace(minutes * MINUTE_MS);
        const endpoint = await insertEndpoint(db.database.prisma);
        for (let from = 0; from < results.length; from += size) {
          await settleRun(endpoint, results.slice(from, from + size));
        }
        expect(await typesOf(endpoint)).toEqual(model(results, minutes));
      },
    ),
    { numRuns: 40 },
  );
});

function model(results: readonly boolean[], minutes: number): string[] {
  const notices: string[] = [];
  let failures = 0;
  let toldAt: number | null = null;
  let isTold = false;
  for (const [index, succeeded] of results.entries()) {
    if (succeeded && isTold) notices.push("recovered");
    isTold &&= !succeeded;
    failures = succeeded ? 0 : failures + 1;
    if (failures === FAILING_AFTER && (toldAt === null || (index - toldAt) * minutes >= 60)) {
      notices.push("failing");
      toldAt = index;
      isTold = true;
    }
    if (failures === DISABLE_AFTER) return [...notices, "disabled"];
  }
  return notices;
}
