import type { Service } from "@herald/common/service/run-service";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useDispatchers } from "../dispatchers.ts";

const { db, receiver, ...dispatchers } = useDispatchers();

/** Small dispatchers: only their number matters. */
const LIGHT = { DATABASE_POOL_SIZE: "2", ENDPOINT_CONCURRENCY: "10" };

const start = (count: number): Promise<Service[]> =>
  Promise.all(Array.from({ length: count }, () => dispatchers.start(LIGHT, { sweepIntervalMs: 250 })));

test("twenty dispatchers together never have more attempts to an endpoint than its concurrency, while some come and others end", async () => {
  let inFlight = 0;
  let most = 0;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let answers = 0;
  receiver.answerWith(async () => {
    most = Math.max(most, ++inFlight);
    await released;
    // Now and then a slower one, so that new dispatchers must wait for it.
    await new Promise((resolve) => setTimeout(resolve, answers++ % 20 === 0 ? 300 : 20));
    inFlight--;
    return { status: 200 };
  });
  const endpoint = await dispatchers.insertEndpointAt(receiver.url);
  const first = await start(17);
  const deliveryIds = await dispatchers.insertDeliveries(endpoint, 500);
  await eventually(() => expect(inFlight).toBe(10));
  // New dispatchers come while ten attempts wait for their answer, and get shards only when none of these is in flight.
  const [, ...others] = await Promise.all([
    ...first.slice(0, 2).map(dispatchers.stop),
    start(1),
    releaseLater(),
    start(4),
  ]);
  expect(others.flat().length).toBeGreaterThan(0);
  for (const dispatcher of first.slice(2, 6)) {
    await Promise.all([dispatchers.stop(dispatcher), start(1)]);
  }
  await eventually(async () =>
    expect(await db.database.prisma.delivery.count({ where: { state: "succeeded" } })).toBe(500),
  );
  expect(most).toBe(10);
  const received = receiver.requests.map(({ headers }) => headers["x-service-delivery-id"]);
  expect(received.sort()).toEqual([...deliveryIds].sort());

  async function releaseLater(): Promise<void> {
    // A fixed wait, to show an absence: no new dispatcher begins an eleventh attempt.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(inFlight).toBe(10);
    release();
  }
});
