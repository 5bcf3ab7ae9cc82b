import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
import type { ServiceName, ServiceProcess } from "../../src/herald/processes.ts";
import { useTestEnvironment } from "./test-environment.ts";

// The services are processes of their own, whose machines' clocks are wrong. The database's and the receiver's are right.
const environment = useTestEnvironment({ dispatcher: false, publisher: false });

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

const start = (name: ServiceName, clockAheadMs: number, settings: Record<string, string> = {}) =>
  environment.startProcess(name, settings, { clockAheadMs });

/** Answers as SPEC 4.4.3 recommends: what was not signed within five minutes of now is refused. */
function refuseUntimely(): void {
  environment.receiver.answerWith(({ headers }) => {
    const offSeconds = Math.abs(Date.now() / SECOND_MS - Number(headers["x-service-timestamp"]));
    return { status: offSeconds <= 300 ? 200 : 401 };
  });
}

/** By how much its machine's clock is ahead, as it says itself. */
async function aheadMsOf({ operationsUrl }: ServiceProcess): Promise<number> {
  const metrics = await (await fetch(`${operationsUrl}/metrics`, { headers: { connection: "close" } })).text();
  return Number(/^herald_clock_difference_seconds\{.*\} (\S+)$/m.exec(metrics)?.[1]) * SECOND_MS;
}

/** Of a dispatcher, and of the publisher beside it. */
const CLOCKS = [
  ["400 seconds behind", "eight days ahead", -400 * SECOND_MS, 8 * DAY_MS],
  ["a day ahead", "62 minutes behind", DAY_MS, -62 * MINUTE_MS],
] as const;

test.each(CLOCKS)(
  "§4.4.3 §3.1/failures §3.2/retry §6.1 a dispatcher whose machine's clock is %s, beside a publisher %s, disables no endpoint, delivers everything, and retries a minute after a failure by the true time",
  async (_dispatcher, _publisher, aheadMs, publisherAheadMs) => {
    const { api, receiver, emitter, db } = environment;
    refuseUntimely();
    const urls = Array.from({ length: 5 }, (_, index) => `${receiver.url}/${index}`);
    for (const url of urls) await api.create({ url });
    await start("publisher", publisherAheadMs);
    await start("dispatcher", aheadMs);
    const events = Array.from({ length: 10 }, () => environment.event());
    for (const event of events) await emitter.emit(event);
    await eventually(
      async () => {
        const endpoints = await api.list();
        expect(endpoints.filter(({ enabled }) => !enabled)).toEqual([]);
        const where = { organizationId: api.organizationId, state: "succeeded" } as const;
        expect(await db.database.prisma.delivery.count({ where })).toBe(events.length * urls.length);
      },
      { timeoutMs: 60_000 },
    );
    // By the first attempt each: none was refused for its time.
    expect(receiver.requests).toHaveLength(events.length * urls.length);
    expect(await db.database.prisma.notice.count()).toBe(0);

    receiver.answerWith({ status: 500 });
    const { endpoint } = await api.create({ url: receiver.url, events: ["RiskCreated"] });
    await emitter.emit(environment.event({ type: "RiskCreated", occurredAtUtc: new Date().toISOString() }));
    const request = (await receiver.received(receiver.requests.length + 1)).at(-1);
    const dueAt = await eventually(async () => {
      const due = await db.database.prisma.due.findFirstOrThrow({ where: { endpointId: endpoint.id, attempts: 1 } });
      return due.dueAt.getTime();
    });
    // Two processes of one machine read the same moment only to this accuracy.
    const earliest = (request?.receivedAt.getTime() ?? 0) - SECOND_MS;
    expect(dueAt).toBeGreaterThanOrEqual(earliest + MINUTE_MS);
    expect(dueAt).toBeLessThanOrEqual(Date.now() + MINUTE_MS);
    // Written a moment later.
    await eventually(async () => {
      const where = { id: endpoint.id };
      const { failedAt, pausedUntil } = await db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where });
      for (const time of [failedAt, pausedUntil]) {
        expect(time?.getTime()).toBeGreaterThanOrEqual(earliest);
        expect(time?.getTime()).toBeLessThanOrEqual(Date.now() + MINUTE_MS);
      }
    });
    // herald doctor reads it.
    await eventually(
      async () => {
        const said = await db.database.prisma.process.findMany({ where: { service: "dispatcher" } });
        const clockAheadSeconds = expect.closeTo(aheadMs / SECOND_MS, -1);
        expect(said.map(({ facts }) => facts)).toContainEqual(expect.objectContaining({ clockAheadSeconds }));
      },
      { timeoutMs: 60_000 },
    );
  },
);

test("§3.1/failures a dispatcher whose machine's clock is 400 days behind, for which no certificate is valid yet, blames nobody, says so, and goes on with the right clock", async () => {
  const { api, receiver, emitter, db, event } = environment;
  const lines: string[] = [];
  await start("publisher", 0);
  const options = { clockAheadMs: -400 * DAY_MS, onLine: (line: string) => void lines.push(line) };
  const dispatcher = await environment.startProcess("dispatcher", {}, options);
  const { endpoint } = await api.create({ url: receiver.url });
  await emitter.emit(event());
  await eventually(() => expect(lines.join("\n")).toMatch(/"this machine's or PostgreSQL's".*a clock is wrong/));
  expect(await db.database.prisma.delivery.findMany({ where: { endpointId: endpoint.id } })).toMatchObject([
    { attemptCount: 0, state: "pending" },
  ]);
  expect(await api.get(endpoint.id)).toMatchObject({ enabled: true, consecutiveFailures: 0 });
  expect(receiver.requests).toEqual([]);
  dispatcher.setClock(0);
  // The first endpoint waits for a minute.
  await api.create({ url: receiver.url, events: ["RiskCreated"] });
  await emitter.emit(event({ type: "RiskCreated", occurredAtUtc: new Date().toISOString() }));
  await receiver.received(1);
});

test("§4.2 the timestamp of a signature is PostgreSQL's time, whatever the machine's clock is set to meanwhile", async () => {
  const { api, receiver, emitter } = environment;
  await api.create({ url: receiver.url });
  await start("publisher", 0);
  const dispatcher = await start("dispatcher", 0);
  for (const [index, aheadMs] of [0, 400 * SECOND_MS, -400 * SECOND_MS, DAY_MS, -DAY_MS].entries()) {
    dispatcher.setClock(aheadMs);
    await eventually(async () => expect(Math.abs((await aheadMsOf(dispatcher)) - aheadMs)).toBeLessThan(SECOND_MS));
    await emitter.emit(environment.event());
    const requests = await receiver.received(index + 1);
    const { receivedAt, headers } = requests[index] as (typeof requests)[number];
    // In whole seconds. On a slow machine the request may have been under way for this long.
    const ageSeconds = receivedAt.getTime() / SECOND_MS - Number(headers["x-service-timestamp"]);
    expect(ageSeconds).toBeGreaterThan(-1);
    expect(ageSeconds).toBeLessThan(60);
  }
});

test("§6.1 an endpoint that an API makes whose machine's clock is a day ahead gets the next event, and the page gets the true time", async () => {
  const { api: right, receiver, emitter } = environment;
  const { port } = await start("management-api", DAY_MS);
  const api = await apiClient(`http://127.0.0.1:${port}`, right.organizationId);
  const { endpoint } = await api.create({ url: receiver.url });
  await start("publisher", 0);
  await start("dispatcher", 0);
  await emitter.emit(environment.event({ occurredAtUtc: new Date().toISOString() }));
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 1 }));
  // By which the page shows times.
  const { headers } = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });
  expect(Math.abs(Date.parse(headers.get("date") ?? "") - Date.now())).toBeLessThan(MINUTE_MS);
});
