import { eventually } from "@herald/testkit/harness/eventually";
import { afterEach, expect, test } from "@jest/globals";
import { type ServiceProcess, startServiceProcess } from "../../src/herald/processes.ts";
import { heraldSettings } from "../../src/herald/settings.ts";
import { useJourney } from "./test-environment.ts";

const journey = useJourney({ dispatcher: false });
const processes: ServiceProcess[] = [];

afterEach(async () => {
  await Promise.all(processes.splice(0).map((each) => each.stop()));
});

async function startDispatcherProcess(settings: Record<string, string>): Promise<ServiceProcess> {
  const started = await startServiceProcess("dispatcher", { ...heraldSettings(journey.place), ...settings });
  processes.push(started);
  return started;
}

test("§4.4.10 a dispatcher killed in the middle of 500 deliveries loses none, and makes no more than five attempts of any", async () => {
  const { api, receiver, emitter, db } = journey;
  // An attempt that a busy machine lets run into its time must not end the test by a retry in minutes, or a disabled endpoint.
  const settings = {
    CLAIM_LEASE_SECONDS: "6",
    RETRY_INTERVAL_SECONDS: "0.2",
    ATTEMPT_TIMEOUT_SECONDS: "5",
    RETRY_DELAYS_SECONDS: "1,1,1,1",
    DISABLE_AFTER_FAILURES: "1000",
  };
  for (const path of ["a", "b", "c", "d", "e"]) await api.create({ url: `${receiver.url}/${path}` });
  receiver.answerWith({ delayMs: 20 });
  const dispatcher = await startDispatcherProcess(settings);
  const events = Array.from({ length: 100 }, () => journey.event());
  await Promise.all(events.map((event) => emitter.emit(event)));
  await receiver.received(150);
  await dispatcher.kill();
  const before = receiver.requests.length;
  expect(before).toBeLessThan(500);

  await startDispatcherProcess(settings);
  await eventually(
    async () => expect(await db.database.prisma.delivery.count({ where: { state: "succeeded" } })).toBe(500),
    { timeoutMs: 120_000 },
  );
  const deliveries = await db.database.prisma.delivery.findMany({ include: { attempts: true } });
  expect(deliveries).toHaveLength(500);
  for (const { attemptCount, attempts, inFlight } of deliveries) {
    expect(inFlight).toBe(false);
    expect(attemptCount).toBeLessThanOrEqual(5);
    expect(attempts.map(({ number }) => number).sort()).toEqual(
      Array.from({ length: attemptCount }, (_, index) => index + 1),
    );
  }
  // What was cut off is written down as such.
  const cutOff = deliveries.flatMap(({ attempts }) => attempts).filter(({ statusCode }) => statusCode === 503);
  expect(cutOff.length).toBeGreaterThan(0);
  for (const { errorSummary } of cutOff) expect(errorSummary).toContain("interrupted");
  // Each event at each endpoint, and the only ones that came twice are those whose result died with the process.
  const arrived = receiver.requests.map(({ path, body }) => `${path} ${JSON.parse(body.toString()).id}`);
  expect(new Set(arrived).size).toBe(500);
  expect(arrived.length - 500).toBeLessThanOrEqual(cutOff.length);
}, 180_000);

test("a dispatcher that is asked to end finishes and settles what it has in flight", async () => {
  const { api, receiver, emitter, db } = journey;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ delayMs: 1_000 });
  const dispatcher = await startDispatcherProcess({});
  for (let index = 0; index < 5; index++) await emitter.emit(journey.event());
  await receiver.received(5);
  await dispatcher.stop();
  expect((await dispatcher.process.exited).code).toBe(0);
  expect(await db.database.prisma.delivery.count({ where: { endpointId: endpoint.id, state: "succeeded" } })).toBe(5);
});
