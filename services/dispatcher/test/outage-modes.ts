import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import type { Service } from "@herald/common/service/run-service";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { type NameServer, NO_ROUTE, nameServer } from "@herald/dev/harness/name-server";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { freePort } from "@herald/dev/stack/ports";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { startDispatcher } from "../src/start-dispatcher.ts";

/** How Herald's own network can fail, and come back. */
const MODES = {
  "the name server is dead": { breakIt: (names) => names.die(), mendIt: (names) => names.revive() },
  "the name server is silent": { breakIt: (names) => names.answerWith("silence"), mendIt: answer },
  "the name server fails": { breakIt: (names) => names.answerWith("failed"), mendIt: answer },
  "there is no route": { breakIt: (names) => names.answerWith([NO_ROUTE]), mendIt: answer },
} satisfies Record<string, Record<"breakIt" | "mendIt", (names: NameServer) => unknown>>;

function answer(names: NameServer): unknown {
  return names.answerWith(["127.0.0.1"]);
}

const db = useDatabase();
const rabbitmq = useBroker();
const { SECRET_KEYS } = newSealingKeys("test");
const ORGANIZATIONS = 40;
const DELIVERIES = 2;

let folder: string;
let names: NameServer;
let receiver: HttpsReceiver;
let dispatcher: Service;
let operations: string;

beforeEach(async () => {
  const authority = await makeAuthority("Test authority");
  const certificate = await authority.issue({ names: ["*.receivers.example"] });
  folder = await mkdtemp(join(tmpdir(), "herald-outage-"));
  await writeFile(join(folder, "ca.pem"), authority.cert);
  receiver = await httpsReceiver({ certificate });
  // Each attempt needs a connection of its own.
  receiver.answerWith({ headers: { connection: "close" } });
  names = await nameServer();
});
afterEach(async () => {
  await dispatcher.stop();
  await receiver.close();
  await names.close();
  await rm(folder, { recursive: true });
  const { prisma } = db.database;
  await prisma.due.deleteMany();
  await prisma.deliveryAttempt.deleteMany();
  await prisma.delivery.deleteMany();
  await prisma.webhookEndpoint.deleteMany();
});

async function start(): Promise<void> {
  const port = await freePort();
  operations = `http://127.0.0.1:${port}`;
  const environment = {
    HERALD_ENV: "development",
    DATABASE_URL: db.url,
    AMQP_URL: rabbitmq.url,
    BROKER_NAMESPACE: rabbitmq.namespace,
    OPERATIONS_PORT: String(port),
    HTTP_HOST: "127.0.0.1",
    LOG_LEVEL: "error",
    SECRET_KEYS,
    ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8",
    EXTRA_CA_FILE: join(folder, "ca.pem"),
    DNS_SERVERS: names.address,
  };
  dispatcher = await startDispatcher(environment, { tuning: { sweepIntervalMs: 50 } });
}

/** Stores forty organizations, each with an endpoint that has a host of its own. */
async function storeEndpoints() {
  const { prisma } = db.database;
  const endpoints = [];
  for (let index = 0; index < ORGANIZATIONS; index++) {
    const url = `https://o${index}.receivers.example:${receiver.port}/o${index}`;
    const endpoint = await insertEndpoint(prisma, { url });
    const sealedSecret = secretBox(SECRET_KEYS).seal("secret", endpoint.id);
    endpoints.push(await prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { sealedSecret } }));
  }
  return endpoints;
}

async function storeDeliveries(endpoints: Awaited<ReturnType<typeof storeEndpoints>>): Promise<void> {
  for (const endpoint of endpoints) {
    for (let index = 0; index < DELIVERIES; index++) {
      await insertDelivery(db.database.prisma, endpoint, { createdAt: new Date() });
    }
  }
}

/** What operators see: whether the dispatcher is ready, and the metric. */
async function seen(): Promise<{ network: boolean; outage: string | undefined }> {
  const [readiness, metrics] = await Promise.all([fetch(`${operations}/readyz`), fetch(`${operations}/metrics`)]);
  const { network } = (await readiness.json()) as { network: boolean };
  return { network, outage: /^herald_outage\S* (\d)$/m.exec(await metrics.text())?.[1] };
}

async function expectNothingRecorded(): Promise<void> {
  const { prisma } = db.database;
  expect(
    await prisma.delivery.count({ where: { OR: [{ attemptCount: { gt: 0 } }, { statusCode: { not: null } }] } }),
  ).toBe(0);
  expect(await prisma.deliveryAttempt.count()).toBe(0);
  expect(await prisma.webhookEndpoint.count({ where: { consecutiveFailures: { gt: 0 } } })).toBe(0);
}

/** Tests one of the modes. Each costs the seconds that Herald needs to be sure. */
export function testOutage(mode: keyof typeof MODES): void {
  const { breakIt, mendIt } = MODES[mode];
  test(`forty organizations, no way to their receivers, ${mode}: no failure is recorded or counted, and all arrives when Herald is back`, async () => {
    await breakIt(names);
    await storeDeliveries(await storeEndpoints());
    await start();
    await eventually(async () => expect(await seen()).toEqual({ network: false, outage: "1" }));
    await expectNothingRecorded();
    await mendIt(names);
    await receiver.received(ORGANIZATIONS * DELIVERIES);
    await eventually(async () => {
      const succeeded = { state: "succeeded", attemptCount: 1 } as const;
      expect(await db.database.prisma.delivery.count({ where: succeeded })).toBe(ORGANIZATIONS * DELIVERIES);
    });
    expect(receiver.requests).toHaveLength(ORGANIZATIONS * DELIVERIES);
    expect(await seen()).toEqual({ network: true, outage: "0" });
  });
}
