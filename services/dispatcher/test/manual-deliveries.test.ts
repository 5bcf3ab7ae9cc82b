import { type Broker, connectBroker } from "@herald/common/broker/broker";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { askForManual, useDispatchers } from "./dispatchers.ts";

const db = useDatabase();
const rabbitmq = useBroker();
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
let receiver: HttpsReceiver;
let broker: Broker;
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

/** When a manual delivery is due where nobody attempts it for its request: later than the test takes. */
const DUE_AT = new Date(Date.now() + 3_600_000);

/** Stores manual deliveries, as the API does. */
const store = (endpoint: Endpoint, count: number) => dispatchers.insertDeliveries(endpoint, count, { dueAt: DUE_AT });

/** Asks for a delivery's attempt, as the API does; whether it was attempted, undefined without an answer. */
const ask = (endpoint: Endpoint, deliveryId: string) =>
  askForManual(broker, db, { endpoint, deliveryId, dueAt: DUE_AT });

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

test("manual deliveries that hang hold up no other one", async () => {
  await dispatchers.start(PATIENT, { bounds: { manualDeliveries: 4, inFlight: 20 } });
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

test("a stop waits for the manual deliveries that are under way", async () => {
  const dispatcher = await dispatchers.start(PATIENT);
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

test("a delivery that has ended, or has failed since, is not attempted for a request", async () => {
  const { prisma } = db.database;
  await dispatchers.start();
  const endpoint = await dispatchers.insertEndpointAt(`${receiver.url}/healthy`);
  const [ended = "", failed = ""] = await store(endpoint, 2);
  await prisma.due.deleteMany({ where: { deliveryId: ended } });
  await prisma.due.updateMany({ where: { deliveryId: failed }, data: { dueAt: new Date(DUE_AT.getTime() + 1) } });
  expect([await ask(endpoint, ended), await ask(endpoint, failed)]).toEqual([false, false]);
  expect(receiver.requests).toEqual([]);
});
