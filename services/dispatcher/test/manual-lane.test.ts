import { type Broker, connectBroker } from "@herald/common/broker/broker";
import type { Requester } from "@herald/common/broker/requester";
import type { ManualReply, ManualRequest } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { handOverManual } from "../src/sql/hand-over-manual.ts";
import { useDispatchers } from "./dispatchers.ts";

const db = useDatabase();
const rabbitmq = useBroker();
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
let receiver: HttpsReceiver;
let broker: Broker;
let requester: Requester;
/** Lets the receivers that hang answer. */
let answer = () => {};

beforeEach(async () => {
  receiver = await httpsReceiver();
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  receiver.answerWith(async ({ path }) => {
    if (path.startsWith("/hangs")) await answered;
    return { status: 200 };
  });
  broker = connectBroker({ url: rabbitmq.url, namespace: rabbitmq.namespace, name: "test", log: quiet });
  requester = broker.requester();
});
afterEach(async () => {
  await broker.close();
  // First the receiver: its connections end, and with them the attempts that hang.
  await receiver.close();
});
const dispatchers = useDispatchers(db, rabbitmq);

/** Attempts that hang end long after the test. */
const PATIENT = { ATTEMPT_TIMEOUT_SECONDS: "60" };

interface Endpoint {
  id: string;
  organizationId: string;
}

/** Stores manual deliveries, as the API does: for longer than the test takes they are left to their requests. */
const store = (endpoint: Endpoint, count: number) =>
  dispatchers.insertDeliveries(endpoint, count, { dueInMs: 3_600_000 });

/** Asks for a delivery's attempt, as the API does; whether it was attempted, undefined without an answer. */
async function ask({ id, organizationId }: Endpoint, deliveryId: string): Promise<boolean | undefined> {
  const request: ManualRequest = { deliveryId, endpointId: id, organizationId };
  const content = Buffer.from(JSON.stringify(request));
  const { requestsExchange: exchange, manualQueue: routingKey } = broker.names;
  const reply = await requester.request({ exchange, routingKey, content, timeoutMs: 80_000 });
  return reply && (JSON.parse(String(reply)) as ManualReply).attempted;
}

async function deliver(endpoint: Endpoint): Promise<boolean | undefined> {
  const [deliveryId = ""] = await store(endpoint, 1);
  return await ask(endpoint, deliveryId);
}

const hanging = () => receiver.requests.filter(({ path }) => path.startsWith("/hangs")).length;
const succeeded = () => db.database.prisma.delivery.count({ where: { state: "succeeded" } });

test("two organizations with sixty manual deliveries each to receivers that hang keep no other organization's waiting", async () => {
  await dispatchers.start(PATIENT, { sweepIntervalMs: 250 });
  const one = await dispatchers.insertEndpointAt(`${receiver.url}/hangs-1`);
  const other = await dispatchers.insertEndpointAt(`${receiver.url}/hangs-2`);
  const third = await dispatchers.insertEndpointAt(`${receiver.url}/healthy`);
  const [ofOne, ofOther] = [await store(one, 60), await store(other, 60)];
  let refused = 0;
  const flood = [...ofOne, ...ofOther].map(async (deliveryId, index) => {
    if ((await ask(index < 60 ? one : other, deliveryId)) === false) refused++;
  });
  // Those above the caps are answered at once, while the receivers still hang.
  await eventually(() => expect([refused, hanging()]).toEqual([100, 20]));
  expect(await deliver(third)).toBe(true);
  expect(hanging()).toBe(20);

  // What was refused is due, and is attempted in the ordinary way.
  answer();
  await Promise.all(flood);
  await eventually(async () => expect(await succeeded()).toBe(121));
  expect(receiver.requests).toHaveLength(121);
});

test("a lane full of manual deliveries that hang lets others in, since slow ones leave it", async () => {
  await dispatchers.start(PATIENT, { bounds: { manualDeliveries: 4 } });
  const flood: Promise<boolean | undefined>[] = [];
  for (let index = 0; index < 12; index++) {
    flood.push(deliver(await dispatchers.insertEndpointAt(`${receiver.url}/hangs-${index}`)));
  }
  await eventually(() => expect(hanging()).toBe(12));
  expect(await deliver(await dispatchers.insertEndpointAt(`${receiver.url}/healthy`))).toBe(true);
  expect(hanging()).toBe(12);
  answer();
  expect(await Promise.all(flood)).toEqual(Array.from({ length: 12 }, () => true));
});

test("a stop waits for the manual deliveries that have left the lane", async () => {
  const dispatcher = await dispatchers.start(PATIENT, { bounds: { manualDeliveries: 1 } });
  const endpoints = [
    await dispatchers.insertEndpointAt(`${receiver.url}/hangs-1`),
    await dispatchers.insertEndpointAt(`${receiver.url}/hangs-2`),
  ];
  const delivered = endpoints.map(deliver);
  await eventually(() => expect(hanging()).toBe(2));
  const stopped = dispatchers.stop(dispatcher);
  answer();
  await stopped;
  expect(await Promise.all(delivered)).toEqual([true, true]);
  expect(await succeeded()).toBeGreaterThanOrEqual(2);
});

test("a manual delivery that has been claimed or attempted meanwhile is not handed over", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await dispatchers.insertEndpointAt(receiver.url);
  const [waiting = "", claimed = "", failed = ""] = await dispatchers.insertDeliveries(endpoint, 3, {
    dueInMs: 30_000,
  });
  await prisma.due.update({ where: { deliveryId: claimed }, data: { claimId: claimed } });
  await prisma.due.update({ where: { deliveryId: failed }, data: { attempts: 1 } });
  const now = new Date();
  await handOverManual(queries, { deliveryIds: [waiting, claimed, failed], now });
  const due = await prisma.due.findMany({ where: { endpointId: endpoint.id, dueAt: { lte: now } } });
  expect(due.map(({ deliveryId }) => deliveryId)).toEqual([waiting]);
  await prisma.due.deleteMany();
});

test("a request for a manual delivery that comes past the management API's exchange is dropped, without an answer", async () => {
  await dispatchers.start();
  const endpoint = await dispatchers.insertEndpointAt(`${receiver.url}/healthy`);
  const [deliveryId = ""] = await store(endpoint, 1);
  const request: ManualRequest = { deliveryId, endpointId: endpoint.id, organizationId: endpoint.organizationId };
  const content = Buffer.from(JSON.stringify(request));
  const forged = requester.request({ exchange: "", routingKey: broker.names.manualQueue, content, timeoutMs: 80_000 });
  // What comes later has passed it.
  expect(await deliver(endpoint)).toBe(true);
  const { state } = await db.database.prisma.delivery.findFirstOrThrow({ where: { id: deliveryId } });
  expect(state).toBe("pending");
  await requester.close();
  expect(await forged).toBeUndefined();
});
