import { eventually } from "@herald/dev/harness/eventually";
import { beforeAll, expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment({ publisher: false });
const DAY_MS = 24 * 60 * 60_000;

// Herald was up before: the publisher makes the exchange, and without it no event can be emitted.
beforeAll(async () => (await environment.herald.startPublisher()).stop());

const arrivedIds = () => environment.receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string);

test("§6.4 §6.1/window events that came while Herald was down are delivered when it is back, up to seven days later", async () => {
  const { api, receiver, emitter, clock, herald } = environment;
  await api.create({ url: receiver.url });
  clock.advance(1_000);
  const tooOld = environment.event();
  // RabbitMQ refuses at first what it gets for a queue that was declared a moment ago.
  await eventually(() => emitter.emit(tooOld));
  clock.advance(1_000);
  const events = [environment.event(), environment.event(), environment.event()];
  for (const event of events) await emitter.emit(event);
  clock.advance(7 * DAY_MS - 500);
  await herald.startPublisher();
  await receiver.received(3);
  await environment.settled();
  expect(arrivedIds().sort()).toEqual(events.map(({ id }) => id).sort());
});

test("§6.4 an endpoint that was never enabled gets, once it is, what happened since its creation", async () => {
  const { api, receiver, emitter, clock, herald } = environment;
  const early = environment.event({ occurredAtUtc: new Date(clock.now().getTime() - 1).toISOString() });
  await emitter.emit(early);
  const { endpoint } = await api.create({ url: receiver.url, enabled: false });
  await herald.startPublisher();
  const events = [environment.event(), environment.event()];
  for (const event of events) await emitter.emit(event);
  await eventually(async () =>
    expect(
      await environment.db.database.prisma.businessEvent.count({ where: { organizationId: api.organizationId } }),
    ).toBe(3),
  );
  clock.advance(DAY_MS);
  expect(await environment.outcomes(endpoint.id)).toEqual({});
  await api.edit(endpoint.id, { enabled: true });
  await receiver.received(2);
  await environment.settled();
  expect(arrivedIds().sort()).toEqual(events.map(({ id }) => id).sort());
});
