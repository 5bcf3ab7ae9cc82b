import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, expect, test } from "@jest/globals";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

/** As many attempts as there may be interruptions: what comes twice is no fault here, and nothing may end for that. */
const MANY_ATTEMPTS = Array(99).fill("60").join(",");

const environment = useTestEnvironment({
  settings: { RETRY_DELAYS_SECONDS: MANY_ATTEMPTS, DISABLE_AFTER_FAILURES: "1000" },
});
const COUNT = 300;

let time: NodeJS.Timeout | undefined;
/** What a broken claim leaves behind comes due when its lease ends. */
function letTimePass(): void {
  time = setInterval(() => environment.clock.advance(5_000), 100);
}

afterEach(() => clearInterval(time));

/** Everything reaches the receiver, once or more often. */
async function everythingArrives(ids: readonly string[]): Promise<void> {
  await eventually(
    async () => {
      const states = await environment.db.database.prisma.delivery.groupBy({
        by: ["state"],
        where: { organizationId: environment.api.organizationId },
        _count: true,
      });
      expect(states.map(({ state, _count }) => [state, _count])).toEqual([["succeeded", ids.length]]);
    },
    { timeoutMs: 120_000 },
  );
  const arrived = environment.receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string);
  expect(new Set(arrived)).toEqual(new Set(ids));
}

test("PostgreSQL ends every connection in the middle of it: nothing is lost", async () => {
  const { api, receiver, emitter, db } = environment;
  await api.create({ url: receiver.url });
  receiver.answerWith({ delayMs: 5 });
  const events = Array.from({ length: COUNT }, () => environment.event());
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
}, 240_000);

test("RabbitMQ closes every connection in the middle of it: nothing is lost", async () => {
  const { api, receiver, emitter, broker } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ delayMs: 5 });
  const events = Array.from({ length: COUNT }, () => environment.event());
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
}, 240_000);
