import { createHmac } from "node:crypto";
import { secretBox } from "@herald/common/security/secret-box";
import { eventually } from "@herald/dev/harness/eventually";
import { beforeEach, expect, test } from "@jest/globals";
import { type Endpoint, SECRET_KEYS, useDispatchers } from "./dispatchers.ts";

const { db, receiver, start, stop, insertEndpointAt, insertDeliveries, askForManual } = useDispatchers();
const LARGE = JSON.stringify("x".repeat(256 * 1024 - 2));
/** Lets the receivers that hang answer. */
let answer = () => {};

beforeEach(() => {
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  answer = resolve;
  receiver.answerWith(async ({ path }) => {
    if (path.startsWith("/hangs")) await answered;
    return { status: 200 };
  });
});

/** Attempts that hang end long after the test. */
const PATIENT = { ATTEMPT_TIMEOUT_SECONDS: "60" };

/** When a manual delivery is due that is not attempted for its request: later than the test takes. */
const DUE_AT = new Date(Date.now() + 600_000);

/** Stores manual deliveries, as the API does. */
const store = (endpoint: Endpoint, count: number) => insertDeliveries(endpoint, count, { dueAt: DUE_AT });

const ask = (endpoint: Endpoint, deliveryId: string) => askForManual(endpoint, deliveryId, DUE_AT);

async function deliver(endpoint: Endpoint): Promise<void> {
  const [deliveryId = ""] = await store(endpoint, 1);
  await ask(endpoint, deliveryId);
}

const hanging = () => receiver.requests.filter(({ path }) => path.startsWith("/hangs")).length;
const succeeded = () => db.database.prisma.delivery.count({ where: { state: "succeeded" } });

test("two organizations with sixty manual deliveries each to receivers that hang keep no other organization's waiting", async () => {
  await start(PATIENT, { sweepIntervalMs: 250 });
  const one = await insertEndpointAt(`${receiver.url}/hangs-1`);
  const other = await insertEndpointAt(`${receiver.url}/hangs-2`);
  const third = await insertEndpointAt(`${receiver.url}/healthy`);
  const [ofOne, ofOther] = [await store(one, 60), await store(other, 60)];
  await Promise.all([...ofOne, ...ofOther].map((id, index) => ask(index < 60 ? one : other, id)));
  await eventually(() => expect(hanging()).toBe(20));
  await deliver(third);
  await eventually(async () => expect(await succeeded()).toBe(1));
  expect(hanging()).toBe(20);

  // The deliveries above the caps are attempted in the ordinary way.
  answer();
  await eventually(async () => expect(await succeeded()).toBe(121));
  expect(receiver.requests).toHaveLength(121);
});

test("a stop waits for the manual deliveries that are under way", async () => {
  const dispatcher = await start(PATIENT);
  const endpoints = [
    await insertEndpointAt(`${receiver.url}/hangs-1`),
    await insertEndpointAt(`${receiver.url}/hangs-2`),
  ];
  await Promise.all(endpoints.map(deliver));
  await eventually(() => expect(hanging()).toBe(2));
  const stopped = stop(dispatcher);
  answer();
  await stopped;
  expect(await succeeded()).toBe(2);
});

test("a delivery that has ended, or has failed since, is not attempted for a request", async () => {
  const { prisma } = db.database;
  await start();
  const endpoint = await insertEndpointAt(`${receiver.url}/healthy`);
  const [ended = "", failed = ""] = await store(endpoint, 2);
  await prisma.due.deleteMany({ where: { deliveryId: ended } });
  await prisma.due.updateMany({ where: { deliveryId: failed }, data: { dueAt: new Date(DUE_AT.getTime() + 1) } });
  for (const id of [ended, failed]) await ask(endpoint, id);
  await deliver(endpoint);
  await eventually(async () => expect(await succeeded()).toBe(1));
  // A fixed wait, to show an absence: three requests are read side by side.
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(receiver.requests).toHaveLength(1);
});

test.each(["due", "manual"])(
  "§2.3/current §3.1/pause a %s delivery that waited for bytes meets its endpoint as it is then: edited, with a new secret, paused or deleted",
  async (kind) => {
    const { prisma } = db.database;
    const tuning = { bounds: { bodiesBytes: 1024 ** 2 }, sweepIntervalMs: 100 };
    await start({ ATTEMPT_TIMEOUT_SECONDS: "60" }, tuning);
    const holding = await insertEndpointAt(`${receiver.url}/hangs-with-bytes`);
    await insertDeliveries(holding, 4, { body: LARGE });
    await receiver.received(4);

    const dueAt = new Date(Date.now() + (kind === "manual" ? 600_000 : 0));
    const [edited, replaced, paused, deleted] = await Promise.all(
      ["edited", "replaced", "paused", "deleted"].map((path) => insertEndpointAt(`${receiver.url}/${path}`)),
    );
    if (!edited || !replaced || !paused || !deleted) throw new Error("An endpoint is missing.");
    const endpoints = [edited, replaced, paused, deleted];
    for (const endpoint of endpoints) {
      const [id = ""] = await insertDeliveries(endpoint, 1, { dueAt, body: LARGE });
      if (kind === "manual") await askForManual(endpoint, id, dueAt);
    }
    const waiting = { endpointId: { in: endpoints.map(({ id }) => id) } };
    // A fixed wait, to show an absence: they are in memory, no byte is free for them, and nothing is sent.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(receiver.requests.map(({ path }) => path)).toEqual(Array.from({ length: 4 }, () => "/hangs-with-bytes"));

    const revision = { increment: 1 };
    await prisma.webhookEndpoint.update({ where: edited, data: { url: `${receiver.url}/new`, revision } });
    const sealedSecret = secretBox(SECRET_KEYS).seal("new secret", replaced.id);
    await prisma.webhookEndpoint.update({ where: replaced, data: { sealedSecret, revision } });
    await prisma.webhookEndpoint.update({ where: paused, data: { enabled: false, revision } });
    await prisma.webhookEndpoint.delete({ where: deleted });
    // A configuration that is half a second old may still be used.
    await new Promise((resolve) => setTimeout(resolve, 600));
    answer();

    // The paused one's waits, and so does the deleted one's: it is erased by the publisher.
    await eventually(async () => expect(await prisma.due.count({ where: waiting })).toBe(2));
    const sent = receiver.requests.slice(4).map(({ path, headers, body }) => {
      const signed = (secret: string) => {
        const hmac = createHmac("sha256", secret).update(`${headers["x-service-timestamp"]}.`).update(body);
        return headers["x-service-signature"] === `sha256=${hmac.digest("hex")}`;
      };
      return { path, secret: ["secret", "new secret"].find(signed) };
    });
    expect(sent.sort((one, other) => one.path.localeCompare(other.path))).toEqual([
      { path: "/new", secret: "secret" },
      { path: "/replaced", secret: "new secret" },
    ]);
    expect(await prisma.due.count({ where: { endpointId: paused.id, attempts: 0 } })).toBe(1);
  },
);
