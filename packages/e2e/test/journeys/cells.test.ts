import { randomUUID } from "node:crypto";
import { bucketOf } from "@herald/common/broker/cell";
import { names } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type ConfirmChannel, connect } from "amqplib";
import { type ApiClient, apiClient } from "../../src/herald/api-client.ts";
import { type Herald, startHerald } from "../../src/herald/in-process.ts";
import { useTestEnvironment } from "./test-environment.ts";

// Ahead of the hooks that remove databases and broker.
afterAll(async () => await other?.stop());
const environment = useTestEnvironment({ settings: { INBOX_BUCKETS: "0-7", CELL: "a" } });
const otherDb = useDatabase();
let other: Herald | undefined;

/** An organization of each half, with an endpoint at the Herald that serves it. */
let low: Tenant;
let high: Tenant;

interface Tenant {
  organizationId: string;
  api: ApiClient;
  receiver: HttpsReceiver;
  endpointId: string;
}

beforeAll(async () => {
  other = await startHerald(
    { ...environment.servers, databaseUrl: otherDb.url },
    { clock: environment.clock, settings: { INBOX_BUCKETS: "8-f", CELL: "b" } },
  );
});
beforeEach(async () => {
  low = await tenantOf(environment.herald, (bucket) => bucket < "8");
  high = await tenantOf(other as Herald, (bucket) => bucket >= "8");
});
afterEach(async () => {
  await Promise.all([low?.receiver.close(), high?.receiver.close()]);
});

async function tenantOf({ apiUrl }: Herald, isMeant: (bucket: string) => boolean): Promise<Tenant> {
  let organizationId = randomUUID();
  while (!isMeant(bucketOf(organizationId))) organizationId = randomUUID();
  const receiver = await httpsReceiver();
  const api = await apiClient(apiUrl, organizationId, { untilAvailable: true });
  const { endpoint } = await api.create({ url: receiver.url });
  return { organizationId, api, receiver, endpointId: endpoint.id };
}

const eventOf = ({ organizationId }: Tenant) => environment.event({ organizationId });

/** Which of the two databases holds an event. */
async function placesOf({ id }: { id: string }): Promise<("low" | "high")[]> {
  const [ofLow, ofHigh] = await Promise.all(
    [environment.db, otherDb].map(({ database }) => database.prisma.businessEvent.count({ where: { id } })),
  );
  return [...Array<"low">(ofLow ?? 0).fill("low"), ...Array<"high">(ofHigh ?? 0).fill("high")];
}

async function onBroker(task: (channel: ConfirmChannel) => Promise<unknown>): Promise<void> {
  const connection = await connect(environment.broker.url);
  try {
    const channel = await connection.createConfirmChannel();
    await task(channel);
    await channel.waitForConfirms();
  } finally {
    await connection.close();
  }
}

test("of two Heralds on one broker each delivers the events of its own organizations, and has them alone", async () => {
  const events = [low, high].flatMap((tenant) =>
    Array.from({ length: 20 }, () => ({ tenant, event: eventOf(tenant) })),
  );
  await Promise.all(events.map(({ event }) => environment.emitter.emit(event)));
  for (const tenant of [low, high]) {
    const ids = (await tenant.receiver.received(20)).map(({ body }) => JSON.parse(body.toString()).id);
    expect(ids.sort()).toEqual(events.flatMap((each) => (each.tenant === tenant ? [each.event.id] : [])).sort());
  }
  for (const { tenant, event } of events) expect(await placesOf(event)).toEqual([tenant === low ? "low" : "high"]);
});

test("manual deliveries go to the dispatchers of the Herald that was asked", async () => {
  for (const { api, endpointId, receiver } of [low, high]) {
    const { attemptCount } = await api.deliver(endpointId, "WorkItemCompleted", "{}");
    expect(attemptCount).toBe(1);
    expect(receiver.requests).toHaveLength(1);
  }
});

test("an event whose routing key names no bucket, or a wrong one, comes to its organization's Herald all the same", async () => {
  const { eventsExchange } = names(environment.broker.namespace);
  const keyed = [
    { tenant: high, key: "WorkItemCompleted", event: eventOf(high) },
    { tenant: low, key: "WorkItemCompleted", event: eventOf(low) },
    { tenant: high, key: "WorkItemCompleted.0.0", event: eventOf(high) },
    { tenant: low, key: "WorkItemCompleted.f.0", event: eventOf(low) },
  ];
  await onBroker(async (channel) => {
    for (const { key, event } of keyed) {
      channel.publish(eventsExchange, key, Buffer.from(JSON.stringify(event)), { persistent: true });
    }
  });
  await Promise.all([low.receiver.received(2), high.receiver.received(2)]);
  for (const { tenant, event } of keyed) {
    await eventually(async () => expect(await placesOf(event)).toEqual([tenant === low ? "low" : "high"]));
  }
});
