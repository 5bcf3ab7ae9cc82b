import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { useDispatchers } from "./dispatchers.ts";

const db = useDatabase();
const broker = useBroker();
let receiver: HttpsReceiver;
beforeEach(async () => {
  receiver = await httpsReceiver();
});
afterEach(() => receiver.close());
const dispatchers = useDispatchers(db, broker);

test("with a rate, all dispatchers together begin no more attempts a second to an endpoint, and the whole backlog arrives", async () => {
  const { prisma } = db.database;
  const settings = { ENDPOINT_RATE: "10" };
  const endpoint = await dispatchers.insertEndpointAt(receiver.url);
  await dispatchers.insertDeliveries(endpoint, 50);
  const begun = Date.now();
  await Promise.all([dispatchers.start(settings), dispatchers.start(settings)]);
  await eventually(async () => expect(await prisma.delivery.count({ where: { state: "succeeded" } })).toBe(50));
  const { attemptedAt } = await prisma.delivery.findFirstOrThrow({ orderBy: { attemptedAt: "desc" } });
  // At once the tokens of a second; and perhaps once more, where its shard changed hands. The others come at ten a second.
  expect(Number(attemptedAt) - begun).toBeGreaterThanOrEqual(((50 - 20) / 10) * 1_000);
});
