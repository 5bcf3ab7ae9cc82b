import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Broker } from "@herald/common/broker/broker";
import type { Requester } from "@herald/common/broker/requester";
import { ownerOf } from "@herald/common/database/shards";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import type { Service } from "@herald/common/service/run-service";
import type { ManualReply, ManualRequest } from "@herald/contracts";
import { certificates } from "@herald/dev/harness/certificates";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import type { TestBroker } from "@herald/dev/harness/use-broker";
import type { TestDatabase } from "@herald/dev/harness/use-database";
import { afterAll, afterEach, beforeAll } from "@jest/globals";
import type { DispatcherTuning } from "../src/config.ts";
import { startDispatcher } from "../src/start-dispatcher.ts";

/** Asks for a manual delivery's attempt, as the API does; whether it was attempted, undefined without an answer. */
export async function askForManual(
  broker: Broker,
  db: TestDatabase,
  {
    endpoint,
    deliveryId,
    dueAt,
  }: { endpoint: { id: string; organizationId: string }; deliveryId: string; dueAt: Date },
): Promise<boolean | undefined> {
  const request: ManualRequest = {
    kind: "manual",
    deliveryId,
    endpointId: endpoint.id,
    organizationId: endpoint.organizationId,
    dueAtUtc: dueAt.toISOString(),
  };
  const reply = await requesterOf(broker).request({
    exchange: broker.names.requestsExchange,
    routingKey: (await ownerOf(db.database.queries, endpoint.id)) ?? "nobody",
    content: Buffer.from(JSON.stringify(request)),
    timeoutMs: 80_000,
  });
  return reply && (JSON.parse(String(reply)) as ManualReply).attempted;
}

const requesters = new WeakMap<Broker, Requester>();
function requesterOf(broker: Broker): Requester {
  const requester = requesters.get(broker) ?? broker.requester();
  requesters.set(broker, requester);
  return requester;
}

export const { SECRET_KEYS } = newSealingKeys("test");

/** Starts dispatchers in this process, on the servers of a test file. They are stopped after each test. */
export function useDispatchers(db: TestDatabase, broker: TestBroker) {
  const running = new Set<Service>();
  let folder = "";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "herald-dispatchers-"));
    await writeFile(join(folder, "ca.pem"), (await certificates()).caPem);
  });
  afterAll(() => rm(folder, { recursive: true }));
  afterEach(async () => {
    await Promise.all([...running].map(stop));
  });

  async function start(
    settings: Record<string, string> = {},
    tuning: Partial<DispatcherTuning> = {},
  ): Promise<Service> {
    const environment = {
      HERALD_ENV: "development",
      DATABASE_URL: db.url,
      AMQP_URL: broker.url,
      BROKER_NAMESPACE: broker.namespace,
      OPERATIONS_PORT: "0",
      HTTP_HOST: "127.0.0.1",
      LOG_LEVEL: "error",
      SECRET_KEYS,
      ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8",
      EXTRA_CA_FILE: join(folder, "ca.pem"),
      ...settings,
    };
    const dispatcher = await startDispatcher(environment, { tuning });
    running.add(dispatcher);
    await dispatcher.ready();
    return dispatcher;
  }

  async function stop(dispatcher: Service): Promise<void> {
    if (running.delete(dispatcher)) await dispatcher.stop();
  }

  async function insertEndpointAt(url: string): Promise<{ id: string; organizationId: string }> {
    const { prisma } = db.database;
    const { id, organizationId } = await insertEndpoint(prisma, { url });
    await prisma.webhookEndpoint.update({
      where: { id },
      data: { sealedSecret: secretBox(SECRET_KEYS).seal("secret", id) },
    });
    return { id, organizationId };
  }

  /** Stores deliveries of an endpoint that are due now, or later; returns their ids. */
  async function insertDeliveries(
    endpoint: { id: string; organizationId: string },
    count: number,
    { dueAt }: { dueAt?: Date } = {},
  ): Promise<string[]> {
    const ids: string[] = [];
    for (let index = 0; index < count; index++) {
      const createdAt = new Date();
      const due = { dueAt: dueAt ?? createdAt };
      ids.push((await insertDelivery(db.database.prisma, endpoint, { createdAt, due })).id);
    }
    return ids;
  }

  return { start, stop, insertEndpointAt, insertDeliveries };
}
