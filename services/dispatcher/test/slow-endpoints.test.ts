import { secretBox } from "@herald/common/security/secret-box";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { SECRET_KEYS, useDispatchers } from "./dispatchers.ts";

const db = useDatabase();
const rabbitmq = useBroker();

let receiver: HttpsReceiver;
beforeEach(async () => {
  receiver = await httpsReceiver();
});
// Before the dispatchers stop: its connections end, and with them the attempts that hang.
afterEach(() => receiver.close());
const { start, stop, insertEndpointAt, insertDeliveries } = useDispatchers(db, rabbitmq);

/** Stores an endpoint with deliveries that are due, and returns the endpoint's id. */
async function endpointWith(path: string, count: number): Promise<string> {
  const endpoint = await insertEndpointAt(`${receiver.url}/${path}`);
  await insertDeliveries(endpoint, count);
  return endpoint.id;
}

const countOf = (path: string) => receiver.requests.filter((request) => request.path === `/${path}`).length;

test("an endpoint never has more attempts in flight than its cap, and its backlog goes on as attempts end", async () => {
  let inFlight = 0;
  let most = 0;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  receiver.answerWith(async () => {
    most = Math.max(most, ++inFlight);
    await released;
    inFlight--;
    return { status: 200 };
  });
  await start({ ENDPOINT_CONCURRENCY: "4" });
  await endpointWith("busy", 60);
  await eventually(() => expect(inFlight).toBe(4));
  // A fixed wait, to show an absence: no fifth attempt begins.
  await new Promise((resolve) => setTimeout(resolve, 500));
  release();
  await eventually(() => expect(countOf("busy")).toBe(60));
  expect(most).toBe(4);
  await eventually(async () =>
    expect(await db.database.prisma.delivery.count({ where: { state: "succeeded" } })).toBe(60),
  );
});

test("endpoints that hang delay no delivery of the others, though they would take all permits", async () => {
  const healthy = insertEndpointAt(`${receiver.url}/healthy`);
  receiver.answerWith(({ path }) => (path.startsWith("/hangs") ? { fault: "hang" } : { status: 200 }));
  // Permits that are held up would be freed by the timeout, and come too late for this test.
  await start({ ENDPOINT_CONCURRENCY: "4", ATTEMPT_TIMEOUT_SECONDS: "60" }, { bounds: { inFlight: 24 } });
  // It is known to be quick from then on.
  await insertDeliveries(await healthy, 1);
  await eventually(() => expect(countOf("healthy")).toBe(1));
  for (const path of ["hangs-1", "hangs-2", "hangs-3", "hangs-4"]) await endpointWith(path, 10);
  await eventually(() => expect(receiver.requests.length).toBe(13));
  await insertDeliveries(await healthy, 20);
  await eventually(() => expect(countOf("healthy")).toBe(21), { timeoutMs: 40_000 });
  expect(receiver.requests).toHaveLength(33);
});

test.each([
  ["once", 1, 10],
  ["twice", 2, 1],
])("deliveries that were interrupted %s are made, each with its first attempt", async (path, interruptions, atOnce) => {
  const { prisma } = db.database;
  let inFlight = 0;
  let most = 0;
  receiver.answerWith(async () => {
    most = Math.max(most, ++inFlight);
    // Nobody is answered before as many are there as may be.
    await eventually(() => expect(most).toBe(atOnce));
    inFlight--;
    return { status: 200 };
  });
  const endpointId = await endpointWith(path, 12);
  await prisma.due.updateMany({ where: { endpointId }, data: { interruptions } });
  await start({ ENDPOINT_CONCURRENCY: "10" });
  await eventually(async () =>
    expect(await prisma.delivery.count({ where: { endpointId, state: "succeeded", attemptCount: 1 } })).toBe(12),
  );
  expect(countOf(path)).toBe(12);
  expect(most).toBe(atOnce);
});

test("an endpoint whose secret can't be opened is left alone, and its row says so until one opens it", async () => {
  const { prisma } = db.database;
  const endpointId = await endpointWith("sealed", 40);
  await prisma.webhookEndpoint.update({ where: { id: endpointId }, data: { sealedSecret: "sealed by another key" } });
  const dispatcher = await start({ ENDPOINT_CONCURRENCY: "4" });
  await eventually(async () =>
    expect(await prisma.webhookEndpoint.count({ where: { id: endpointId, quarantinedAt: { not: null } } })).toBe(1),
  );
  expect(countOf("sealed")).toBe(0);
  const quarantined = await prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpointId } });
  expect(quarantined).toMatchObject({ enabled: true, consecutiveFailures: 0, quarantinedAt: expect.any(Date) });

  const sealedSecret = secretBox(SECRET_KEYS).seal("the secret again", endpointId);
  await prisma.webhookEndpoint.update({ where: { id: endpointId }, data: { sealedSecret } });
  await stop(dispatcher);
  await start({ ENDPOINT_CONCURRENCY: "4" });
  await eventually(async () =>
    expect(await prisma.webhookEndpoint.count({ where: { id: endpointId, quarantinedAt: null } })).toBe(1),
  );
  const delivered = { endpointId, state: "succeeded", attemptCount: 1 } as const;
  await eventually(async () => expect(await prisma.delivery.count({ where: delivered })).toBe(40));
});
