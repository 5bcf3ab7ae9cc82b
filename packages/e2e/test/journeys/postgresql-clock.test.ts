import { eventually } from "@herald/dev/harness/eventually";
import { startLink } from "@herald/dev/harness/link";
import { expect, test } from "@jest/globals";
import { apiClient } from "../../src/herald/api-client.ts";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment({ dispatcher: false, publisher: false });

const HOUR_MS = 60 * 60_000;

test("services that start before PostgreSQL take nothing until it has said its time, and then everything", async () => {
  const { receiver, emitter, servers, api: right } = environment;
  const target = new URL(servers.databaseUrl);
  let isOpen = false;
  const link = await startLink(() => (isOpen ? [target] : []));
  const url = new URL(target);
  url.host = `127.0.0.1:${link.port}`;
  const names = ["management-api", "publisher", "dispatcher"] as const;
  const options = { clockAheadMs: 24 * HOUR_MS, untilReady: false };
  const processes = await Promise.all(
    names.map((name) => environment.startProcess(name, { DATABASE_URL: url.href }, options)),
  );
  try {
    const api = await apiClient(`http://127.0.0.1:${processes[0]?.port}`, right.organizationId);
    await eventually(() => expect(api.list()).rejects.toThrow(/ 503: .*database_unavailable/));
    await right.create({ url: receiver.url });
    await emitter.emit(environment.event());
    isOpen = true;
    await receiver.received(1);
    await eventually(async () => expect(await api.list()).toHaveLength(1));
    for (const each of processes) await each.ready();
  } finally {
    await Promise.all(processes.map((each) => each.stop()));
    await link.close();
  }
});

test("PostgreSQL's clock that jumps an hour back holds up neither new deliveries nor retries, and sends nothing twice", async () => {
  const { api, receiver, emitter, clock, herald } = environment;
  await Promise.all([herald.startPublisher(), herald.startDispatcher()]);
  const { endpoint: failing } = await api.create({ url: `${receiver.url}/failing` });
  const { endpoint } = await api.create({ url: receiver.url, events: ["RiskCreated"] });
  receiver.answerWith(({ path }) => ({ status: path === "/failing" ? 500 : 200 }));
  await emitter.emit(environment.event());
  await receiver.received(1);
  await environment.settled();
  const before = clock.now();
  const occurredAtUtc = before.toISOString();
  clock.set(new Date(before.getTime() - HOUR_MS));
  await api.edit(endpoint.id, { name: "Edited by a clock that was set back" });
  for (let index = 0; index < 30; index++) {
    await emitter.emit(environment.event({ type: "RiskCreated", occurredAtUtc }));
  }
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 30 }));
  expect(await api.deliver(endpoint.id, "RiskCreated", '"RiskCreated"')).toMatchObject({ succeeded: true });

  // Its second failure counts, and the next retry is a matter of minutes.
  await environment.rested(failing.id, 2);
  receiver.answerWith({ status: 200 });
  const at = await environment.advanceToNextAttempts(failing.id);
  expect(at.getTime()).toBeLessThan(before.getTime() - HOUR_MS / 2);
  await eventually(async () => expect(await environment.outcomes(failing.id)).toEqual({ succeeded: 1 }));
  expect(receiver.requests).toHaveLength(34);
});

test("PostgreSQL's clock that jumps ahead while an attempt is under way repeats nothing, and its result counts", async () => {
  const { api, receiver, emitter, clock, herald } = environment;
  await Promise.all([herald.startPublisher(), herald.startDispatcher()]);
  const { endpoint } = await api.create({ url: receiver.url });
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  receiver.answerWith(async () => {
    await answered;
    return { status: 200 };
  });
  await emitter.emit(environment.event());
  await receiver.received(1);
  clock.advance(HOUR_MS);
  // The later event has passed it.
  await emitter.emit(environment.event());
  await receiver.received(2);
  answer();
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 2 }));
  expect((await api.get(endpoint.id)).deliveries.map(({ attemptCount }) => attemptCount)).toEqual([1, 1]);
  expect(receiver.requests).toHaveLength(2);
});
