import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { eventually } from "@herald/dev/harness/eventually";
import { type NameServer, nameServer } from "@herald/dev/harness/name-server";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { connectProxy } from "./attempt/receivers.ts";
import { type Endpoint, useDispatchers } from "./dispatchers.ts";

/** Enough that each of two dispatchers would own some of them. */
const ENDPOINTS = 12;

const { db, receiver, start, insertEndpointAt, insertDeliveries } = useDispatchers({ names: ["*.receivers.example"] });
let names: NameServer;
beforeEach(async () => {
  // Each attempt needs a look-up and a connection of its own.
  receiver.answerWith({ status: 500, headers: { connection: "close" } });
  names = await nameServer();
});
afterEach(() => names.close());

const settings = (more: Record<string, string> = {}) => ({
  DNS_SERVERS: names.address,
  ATTEMPT_TIMEOUT_SECONDS: "10",
  RETRY_DELAYS_SECONDS: "0.5,1,2,4",
  DISABLE_AFTER_FAILURES: "1000",
  ...more,
});

const TUNING = { sweepIntervalMs: 100, pausesMs: [100] };

const insertEndpoints = () =>
  Promise.all(
    Array.from({ length: ENDPOINTS }, (_, index) =>
      insertEndpointAt(`https://r${index}.receivers.example:${receiver.port}/r${index}`),
    ),
  );

/** All endpoints have failed, and are well from then on: what comes then arrives. */
async function failAndMend(endpoints: readonly Endpoint[]): Promise<void> {
  const { prisma } = db.database;
  for (const endpoint of endpoints) await insertDeliveries(endpoint, 1);
  const failing = { id: { in: endpoints.map(({ id }) => id) }, consecutiveFailures: { gt: 0 } };
  await eventually(async () => expect(await prisma.webhookEndpoint.count({ where: failing })).toBe(ENDPOINTS));
  receiver.answerWith({ headers: { connection: "close" } });
  const ids: string[] = [];
  for (const endpoint of endpoints) ids.push(...(await insertDeliveries(endpoint, 1)));
  const served = { id: { in: ids }, state: "succeeded" } as const;
  await eventually(async () => expect(await prisma.delivery.count({ where: served })).toBe(ENDPOINTS));
}

test("endpoints that fail are not left to a dispatcher in an outage", async () => {
  const silent = await nameServer();
  await silent.die();
  try {
    const endpoints = await insertEndpoints();
    await start(settings({ DNS_SERVERS: silent.address }), TUNING);
    for (const endpoint of endpoints) await insertDeliveries(endpoint, 1);
    await eventually(async () =>
      expect(await db.database.prisma.process.count({ where: { outageSince: { not: null } } })).toBe(1),
    );
    await start(settings(), TUNING);
    await failAndMend(endpoints);
  } finally {
    await silent.close();
  }
});

test("deliveries wait while an egress proxy refuses Herald, and none counts as failed", async () => {
  const { prisma } = db.database;
  const proxy = await connectProxy();
  try {
    proxy.answerWith("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    receiver.answerWith({ headers: { connection: "close" } });
    const endpoint = await insertEndpointAt(`https://r.receivers.example:${receiver.port}/`);
    await start(settings({ EGRESS_PROXY_URL: `http://user:hunter2@127.0.0.1:${proxy.port}` }), TUNING);
    const [id = ""] = await insertDeliveries(endpoint, 1);
    await eventually(async () => expect(await prisma.process.count({ where: { outageSince: { not: null } } })).toBe(1));
    proxy.answerWith(undefined);
    const atOnce = { id, state: "succeeded", attemptCount: 1 } as const;
    await eventually(async () => expect(await prisma.delivery.count({ where: atOnce })).toBe(1));
    expect(await prisma.webhookEndpoint.count({ where: { id: endpoint.id, consecutiveFailures: 0 } })).toBe(1);
  } finally {
    await proxy.close();
  }
});

test("endpoints that fail are not left to a dispatcher without their key", async () => {
  const endpoints = await insertEndpoints();
  await Promise.all([start(settings({ ...newSealingKeys("another") }), TUNING), start(settings(), TUNING)]);
  await failAndMend(endpoints);
});
