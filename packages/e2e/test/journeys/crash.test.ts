import type { DeliveryDetails } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment({ dispatcher: false, publisher: false });

let passing: NodeJS.Timeout | undefined;
afterEach(() => clearInterval(passing));

test("§4.4.10 a dispatcher killed in the middle of 200 deliveries loses none, and what it cut off counts as no attempt", async () => {
  const { api, receiver, emitter, herald, db } = environment;
  const { organizationId } = api;
  await herald.startPublisher();
  // Far more than an attempt takes on any machine, so that none ends otherwise than by its answer or by the kill.
  const settings = { ATTEMPT_TIMEOUT_SECONDS: "60" };
  const tuning = { sweepIntervalMs: 200 };
  for (const path of ["a", "b", "c", "d", "e"]) await api.create({ url: `${receiver.url}/${path}` });
  const { promise: kill, resolve: killed } = Promise.withResolvers<void>();
  // From the 60th on all wait: the dispatcher is killed in the middle, however fast it is.
  receiver.answerWith(async (_request, index) => {
    if (index >= 60) await kill;
    return {};
  });
  const dispatcher = await environment.startProcess("dispatcher", settings, { tuning });
  const events = Array.from({ length: 40 }, () => environment.event());
  await Promise.all(events.map((event) => emitter.emit(event)));
  await receiver.received(61);
  await dispatcher.kill();
  killed();
  expect(receiver.requests.length).toBeLessThan(200);

  const { prisma } = db.database;
  const cutOff = await prisma.due.count();
  expect(cutOff).toBeGreaterThan(0);
  await environment.startProcess("dispatcher", settings, { tuning });
  await eventually(
    async () => expect(await prisma.delivery.count({ where: { organizationId, state: "succeeded" } })).toBe(200),
    { timeoutMs: 120_000 },
  );
  expect(await prisma.due.count()).toBe(0);
  // Attempts that were cut off do not count.
  const deliveries = await prisma.delivery.findMany({ where: { organizationId } });
  expect(deliveries.map(({ attemptCount }) => attemptCount)).toEqual(Array.from({ length: 200 }, () => 1));
  const [{ id = "", endpointId = "" } = {}] = deliveries;
  const details = await api.read<DeliveryDetails>(`/${endpointId}/deliveries/${id}`);
  expect(details.attempts).toMatchObject([{ number: 1, statusCode: 200 }]);
  // Each event is at each endpoint. Only those whose result was lost with the process came twice.
  const arrived = receiver.requests.map(({ path, body }) => `${path} ${JSON.parse(body.toString()).id}`);
  expect(new Set(arrived).size).toBe(200);
  expect(arrived.length - 200).toBeLessThanOrEqual(cutOff);
}, 240_000);

test("§4.4.10 a publisher killed again and again in the middle of 120 events loses none and delivers none twice", async () => {
  const { api, receiver, emitter, herald, clock, db } = environment;
  const { organizationId } = api;
  const { prisma } = db.database;
  await herald.startDispatcher();
  const { endpoint } = await api.create({ url: receiver.url });
  const tuning = { batchSize: 7, catchUpIntervalMs: 100 };
  const events = Array.from({ length: 120 }, () => environment.event());
  await Promise.all(events.map((event) => emitter.emit(event)));
  // The publisher's process goes by the machine's clock, and says by it when deliveries are due.
  passing = setInterval(() => clock.set(new Date()), 100);
  for (const stored of [1, 25, 60]) {
    const publisher = await environment.startProcess("publisher", {}, { tuning });
    await eventually(
      async () =>
        expect(await prisma.businessEvent.count({ where: { organizationId } })).toBeGreaterThanOrEqual(stored),
      { intervalMs: 1 },
    );
    await publisher.kill();
  }
  await environment.startProcess("publisher", {}, { tuning });
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 120 }), {
    timeoutMs: 120_000,
  });
  const arrived = receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string);
  expect(arrived.sort()).toEqual(events.map(({ id }) => id).sort());
}, 240_000);
