import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectBroker } from "@herald/common/broker/broker";
import { names } from "@herald/common/broker/topology";
import { secretBox } from "@herald/common/security/secret-box";
import type { Service } from "@herald/common/service/run-service";
import { certificates } from "@herald/testkit/harness/certificates";
import { eventually } from "@herald/testkit/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/testkit/harness/https-receiver";
import { insertDelivery, insertEndpoint } from "@herald/testkit/harness/rows";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { startDispatcher } from "../src/start-dispatcher.ts";

const db = useDatabase();
const rabbitmq = useBroker();
const SECRET_KEYS = `test:${randomBytes(32).toString("base64")}`;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

let receiver: HttpsReceiver;
let dispatcher: Service | undefined;
let folder: string;

beforeEach(async () => {
  receiver = await httpsReceiver();
  folder = await mkdtemp(join(tmpdir(), "herald-slow-"));
  await writeFile(join(folder, "ca.pem"), (await certificates()).caPem);
});
afterEach(async () => {
  // First the receiver: its connections end, and with them the attempts that hang.
  await receiver.close();
  await dispatcher?.stop();
  dispatcher = undefined;
  await rm(folder, { recursive: true });
});

async function start(settings: Record<string, string>): Promise<void> {
  dispatcher = await startDispatcher({
    DATABASE_URL: db.url,
    AMQP_URL: rabbitmq.url,
    BROKER_NAMESPACE: rabbitmq.namespace,
    OPERATIONS_PORT: "0",
    HTTP_HOST: "127.0.0.1",
    LOG_LEVEL: "error",
    SECRET_KEYS,
    ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8",
    EXTRA_CA_FILE: join(folder, "ca.pem"),
    ...settings,
  });
}

/** An endpoint with new deliveries, and their hints as the publisher sends them. */
async function endpointWith(path: string, count: number): Promise<{ deliveryId: string; endpointId: string }[]> {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma, { url: `${receiver.url}/${path}` });
  const sealedSecret = secretBox(SECRET_KEYS).seal("secret", endpoint.id);
  await prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { sealedSecret } });
  const nextAttemptAt = new Date(Date.now() + 30_000);
  const hints = [];
  for (let index = 0; index < count; index++) {
    const { id } = await insertDelivery(prisma, endpoint, { nextAttemptAt, createdAt: new Date() });
    hints.push({ deliveryId: id, endpointId: endpoint.id });
  }
  return hints;
}

async function sendHints(hints: readonly object[]): Promise<void> {
  const broker = connectBroker({ url: rabbitmq.url, namespace: rabbitmq.namespace, name: "test", log: quiet });
  try {
    const publisher = broker.publisher();
    const routingKey = names(rabbitmq.namespace).firstHintsQueue;
    for (const hint of hints) {
      await publisher.publish({ exchange: "", routingKey, content: Buffer.from(JSON.stringify(hint)) });
    }
  } finally {
    await broker.close();
  }
}

const countOf = (path: string) => receiver.requests.filter((request) => request.path === `/${path}`).length;

test("an endpoint never has more attempts in flight than its cap, and its backlog goes on as slots come free", async () => {
  let inFlight = 0;
  let most = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  receiver.answerWith(async () => {
    most = Math.max(most, ++inFlight);
    await released;
    inFlight--;
    return { status: 200 };
  });
  await start({ ENDPOINT_CONCURRENCY: "4" });
  await sendHints(await endpointWith("busy", 60));
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

test("endpoints that hang delay no hint of the others, though they take the whole prefetch", async () => {
  receiver.answerWith(({ path }) => (path.startsWith("/hangs") ? { fault: "hang" } : { status: 200 }));
  // Hints that are held up would be freed by the timeout, and come too late for this test.
  const timeouts = { ATTEMPT_TIMEOUT_SECONDS: "60", CLAIM_LEASE_SECONDS: "120" };
  await start({ NEW_DELIVERY_CONCURRENCY: "12", ENDPOINT_CONCURRENCY: "4", ...timeouts });
  const hanging = [];
  for (const path of ["hangs-1", "hangs-2", "hangs-3", "hangs-4"]) hanging.push(...(await endpointWith(path, 10)));
  await sendHints(hanging);
  await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(12));
  const healthy = await endpointWith("healthy", 20);
  await sendHints(healthy);
  await eventually(() => expect(countOf("healthy")).toBe(20), { timeoutMs: 40_000 });
});
