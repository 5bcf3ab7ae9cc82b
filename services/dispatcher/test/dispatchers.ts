import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Broker, connectBroker, type Publisher } from "@herald/common/broker/broker";
import { ownerOf } from "@herald/common/database/shards";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import type { Service } from "@herald/common/service/run-service";
import type { HandOver, ManualRequest } from "@herald/contracts";
import { type KeyPair, makeAuthority } from "@herald/dev/certificates/authority";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { serviceEnvironment, useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, afterEach, beforeAll, beforeEach } from "@jest/globals";
import type { DispatcherTuning } from "../src/config.ts";
import { startDispatcher } from "../src/start-dispatcher.ts";

export const { SECRET_KEYS } = newSealingKeys("test");

export interface Endpoint {
  id: string;
  organizationId: string;
}

/**
 * Gives a test file the servers of Herald, and each test a receiver, and dispatchers in this process. After each test they are stopped, and no
 * endpoint or delivery is left.
 *
 * @param names of the receiver's certificate
 */
export function useDispatchers({ names = ["127.0.0.1"] } = {}) {
  const db = useDatabase();
  const rabbitmq = useBroker();
  const running = new Set<Service>();
  let folder = "";
  let certificate: KeyPair;
  let current: HttpsReceiver;
  let api: { broker: Broker; publisher: Publisher } | undefined;

  beforeAll(async () => {
    const authority = await makeAuthority("Test authority");
    certificate = await authority.issue({ names });
    folder = await mkdtemp(join(tmpdir(), "herald-dispatchers-"));
    await writeFile(join(folder, "ca.pem"), authority.cert);
  });
  beforeEach(async () => {
    current = await httpsReceiver({ certificate });
  });
  afterEach(async () => {
    // First the receiver: its connections end, and with them the attempts that hang.
    await current.close();
    await Promise.all([...running].map(stop));
    await api?.broker.close();
    api = undefined;
    await db.database.prisma.$executeRaw`truncate webhook_endpoint, due, delivery, delivery_attempt`;
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** This test's receiver. */
  const receiver: Omit<HttpsReceiver, "close" | "connections"> = {
    get url() {
      return current.url;
    },
    get port() {
      return current.port;
    },
    get requests() {
      return current.requests;
    },
    answerWith: (script) => current.answerWith(script),
    received: (count, timeoutMs) => current.received(count, timeoutMs),
  };

  async function start(
    settings: Record<string, string> = {},
    tuning: Partial<DispatcherTuning> = {},
  ): Promise<Service> {
    const environment = {
      ...serviceEnvironment(db.url, rabbitmq),
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

  async function insertEndpointAt(url: string, of: { organizationId?: string } = {}): Promise<Endpoint> {
    const { prisma } = db.database;
    const { id, organizationId } = await insertEndpoint(prisma, { ...of, url });
    const sealedSecret = secretBox(SECRET_KEYS).seal("secret", id);
    await prisma.webhookEndpoint.update({ where: { id }, data: { sealedSecret } });
    return { id, organizationId };
  }

  /** Stores deliveries of an endpoint that are due now, or later; returns their ids. */
  async function insertDeliveries(
    endpoint: Endpoint,
    count: number,
    { dueAt, createdAt = new Date(), ...row }: { dueAt?: Date; createdAt?: Date; body?: string } = {},
  ): Promise<string[]> {
    const ids: string[] = [];
    for (let index = 0; index < count; index++) {
      const due = { dueAt: dueAt ?? createdAt };
      ids.push((await insertDelivery(db.database.prisma, endpoint, { createdAt, due, ...row })).id);
    }
    return ids;
  }

  function others() {
    if (api === undefined) {
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const broker = connectBroker({ url: rabbitmq.url, namespace: rabbitmq.namespace, name: "test", log });
      api = { broker, publisher: broker.publisher() };
    }
    return api;
  }

  /** Sends the owner of an endpoint a message, as publishers and the API do. */
  async function tell(endpointId: string, message: HandOver | ManualRequest): Promise<void> {
    const { broker, publisher } = others();
    const { dispatchExchange, requestsExchange } = broker.names;
    await publisher.publish({
      exchange: "kind" in message ? requestsExchange : dispatchExchange,
      routingKey: (await ownerOf(db.database.queries, endpointId)) ?? "no owner",
      content: Buffer.from(JSON.stringify(message)),
    });
  }

  /** Asks for a manual delivery's attempt, as the API does. */
  async function askForManual({ id, organizationId }: Endpoint, deliveryId: string, dueAt: Date): Promise<void> {
    const dueAtUtc = dueAt.toISOString();
    await tell(id, { kind: "manual", deliveryId, endpointId: id, organizationId, dueAtUtc, traceparent: null });
  }

  return { db, receiver, start, stop, insertEndpointAt, insertDeliveries, askForManual, tell };
}
