import { eventually } from "@herald/testkit/harness/eventually";
import { afterEach, expect, test } from "@jest/globals";
import { type ServiceProcess, startServiceProcess } from "../../src/herald/processes.ts";
import { heraldSettings } from "../../src/herald/settings.ts";
import { useJourney } from "./test-environment.ts";

const journey = useJourney({ publisher: false });
const processes: ServiceProcess[] = [];
const COUNT = 300;

let time: NodeJS.Timeout | undefined;
/** What a broken claim leaves behind comes due when its lease or its hint's grace ends. */
function letTimePass(): void {
  time = setInterval(() => journey.clock.advance(5_000), 100);
}

afterEach(async () => {
  clearInterval(time);
  await Promise.all(processes.splice(0).map((each) => each.stop()));
});

/** What reached the receiver, and how often beyond once; everything has to be there. */
async function everythingArrives(ids: readonly string[]): Promise<number> {
  await eventually(
    async () => {
      const states = await journey.db.database.prisma.delivery.groupBy({
        by: ["state"],
        where: { organizationId: journey.api.organizationId },
        _count: true,
      });
      expect(states.map(({ state, _count }) => [state, _count])).toEqual([["succeeded", ids.length]]);
    },
    { timeoutMs: 25_000 },
  );
  const arrived = journey.receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string);
  expect(new Set(arrived)).toEqual(new Set(ids));
  return arrived.length - ids.length;
}

test("PostgreSQL ends every connection in the middle of it: nothing is lost", async () => {
  const { api, receiver, emitter, herald, db } = journey;
  await herald.startPublisher();
  await api.create({ url: receiver.url });
  receiver.answerWith({ delayMs: 5 });
  const events = Array.from({ length: COUNT }, () => journey.event());
  letTimePass();
  const emitting = Promise.all(events.map((event) => emitter.emit(event)));
  for (const count of [20, 80, 150]) {
    await receiver.received(count);
    await db.database.prisma.$queryRaw`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name like 'herald-%'`;
  }
  await emitting;
  await everythingArrives(events.map(({ id }) => id));
}, 60_000);

test("RabbitMQ closes every connection in the middle of it: nothing is lost", async () => {
  const { api, receiver, emitter, herald, broker } = journey;
  await herald.startPublisher();
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ delayMs: 5 });
  const events = Array.from({ length: COUNT }, () => journey.event());
  letTimePass();
  const emitting = Promise.allSettled(events.map((event) => emitter.emit(event)));
  for (const count of [20, 150]) {
    await receiver.received(count);
    await broker.closeConnections();
  }
  // An event whose confirm was lost with the connection is emitted again, as a product service would.
  const results = await emitting;
  for (const [index, { status }] of results.entries()) {
    const event = events[index];
    if (status === "rejected" && event) await eventually(() => emitter.emit(event));
  }
  await everythingArrives(events.map(({ id }) => id));
  await eventually(async () =>
    expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true }),
  );
}, 60_000);

test("§4.4.10 a publisher killed again and again in the middle of it loses no event and delivers none twice", async () => {
  const { api, receiver, emitter, place } = journey;
  await api.create({ url: receiver.url });
  const settings = { ...heraldSettings(place), FAN_OUT_BATCH_SIZE: "7", CATCH_UP_INTERVAL_SECONDS: "0.1" };
  const start = async () => {
    const publisher = await startServiceProcess("publisher", settings);
    processes.push(publisher);
    return publisher;
  };
  const events = Array.from({ length: COUNT }, () => journey.event());
  await Promise.all(events.map((event) => emitter.emit(event)));
  const prisma = journey.db.database.prisma;
  letTimePass();
  for (const stored of [1, 60, 150]) {
    const publisher = await start();
    await eventually(
      async () =>
        expect(
          await prisma.businessEvent.count({ where: { organizationId: api.organizationId } }),
        ).toBeGreaterThanOrEqual(stored),
      { intervalMs: 1 },
    );
    await publisher.kill();
  }
  await start();
  expect(await everythingArrives(events.map(({ id }) => id))).toBe(0);
}, 90_000);
