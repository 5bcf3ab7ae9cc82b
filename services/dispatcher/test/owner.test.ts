import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { useDispatchers } from "./dispatchers.ts";

const db = useDatabase();
const broker = useBroker();
const dispatchers = useDispatchers(db, broker);
let receiver: HttpsReceiver;
beforeEach(async () => {
  receiver = await httpsReceiver();
});
afterEach(() => receiver.close());

test("what is due is attempted, once", async () => {
  const endpoint = await dispatchers.insertEndpointAt(receiver.url);
  const ids = await dispatchers.insertDeliveries(endpoint, 50);
  await dispatchers.start();
  await eventually(async () => expect(await db.database.prisma.due.count()).toBe(0));
  expect(receiver.requests).toHaveLength(50);
  const states = await db.database.prisma.delivery.groupBy({ by: ["state"], where: { id: { in: ids } }, _count: true });
  expect(states).toEqual([{ state: "succeeded", _count: 50 }]);
});
