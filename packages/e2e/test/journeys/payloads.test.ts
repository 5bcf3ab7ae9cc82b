import { EVENT_TYPES, type EventType } from "@herald/contracts";
import { eventSchema } from "@herald/contracts/schemas";
import type { ReceivedRequest } from "@herald/dev/harness/https-receiver";
import { expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

interface Payload {
  id: string;
  type: string;
  occurredAtUtc: string;
  data: unknown;
}

const payloadOf = (request: ReceivedRequest | undefined) => JSON.parse(request?.body.toString() ?? "null") as Payload;

test("§1/events §6/names each event goes to the endpoints of its own organization that subscribed to it, and to no others", async () => {
  const { api, receiver, emitter } = environment;
  await api.create({ url: `${receiver.url}/all`, events: [...EVENT_TYPES] });
  await api.create({ url: `${receiver.url}/risks`, events: ["RiskCreated"] });
  for (const type of EVENT_TYPES) {
    await emitter.emit(environment.event({ type, organizationId: "another" }));
    await emitter.emit(environment.event({ type }));
  }
  await receiver.received(8);
  await environment.settled();
  const arrived = receiver.requests.map((request) => `${request.path} ${payloadOf(request).type}`);
  expect(arrived.sort()).toEqual([...EVENT_TYPES.map((type) => `/all ${type}`), "/risks RiskCreated"].sort());
});

test("§2.4/id §2.2/business-event the body's id is the event's, at every endpoint; the delivery's is another at each", async () => {
  const { api, receiver, emitter } = environment;
  await api.create({ url: receiver.url });
  await api.create({ url: receiver.url });
  const event = environment.event();
  await emitter.emit(event);
  const requests = await receiver.received(2);
  expect(requests.map((request) => payloadOf(request).id)).toEqual([event.id, event.id]);
  const deliveryIds = requests.map(({ headers }) => headers["x-service-delivery-id"]);
  expect(new Set([...deliveryIds, event.id]).size).toBe(3);
  const listed = (await api.list()).flatMap(({ deliveries }) => deliveries);
  expect(listed.map(({ id }) => id).sort()).toEqual(deliveryIds.sort());
  expect(listed.map(({ businessEventId }) => businessEventId)).toEqual([event.id, event.id]);
});

test("§2.4/fields each event's delivered body is what the JSON Schema of its request says", async () => {
  const { api, receiver, emitter } = environment;
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  (addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);
  await api.create({ url: receiver.url, events: [...EVENT_TYPES] });
  for (const type of EVENT_TYPES) {
    await emitter.emit(
      environment.event({ type, data: { changes: { Name: { oldValue: null, newValue: "ü 😀" } }, hours: 7 } }),
    );
  }
  const payloads = (await receiver.received(EVENT_TYPES.length)).map(payloadOf);
  expect(payloads.map(({ type }) => type).sort()).toEqual([...EVENT_TYPES].sort());
  for (const payload of payloads) {
    const keeps = ajv.compile(eventSchema("requests", payload.type as EventType));
    keeps(payload);
    expect([payload.type, keeps.errors ?? []]).toEqual([payload.type, []]);
  }
});

test("§2.4/time a retry says when the event occurred, and in its header when the attempt was made", async () => {
  const { api, receiver, emitter, clock } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  clock.advance(3_000);
  // Ahead of Herald's clock by less than the hour that an emitter's clock may be, and finer than a clock of milliseconds.
  const ahead = new Date(clock.now().getTime() + 30 * 60_000).toISOString();
  const occurredAtUtc = ahead.replace(/\.\d+Z$/, ".123456789Z");
  await emitter.emit(environment.event({ occurredAtUtc }));
  await receiver.received(1);
  await environment.settled();
  await environment.advanceToNextAttempts(endpoint.id);
  const requests = await receiver.received(2);
  expect(requests.map((request) => payloadOf(request).occurredAtUtc)).toEqual([occurredAtUtc, occurredAtUtc]);
  expect(requests[1]?.headers["x-service-timestamp"]).toBe(String(Math.floor(clock.now().getTime() / 1_000)));
});

test("§6.5 §2.4/manual any subscribed event can be delivered by hand, ProjectUpdated too, with any JSON", async () => {
  const { api, receiver } = environment;
  const { endpoint } = await api.create({ url: receiver.url, events: [...EVENT_TYPES] });
  const payloads = ["{}", "[]", '"text"', "0", "null", "true", '{"id":7,"type":"another"}'];
  for (const [index, type] of EVENT_TYPES.entries()) {
    const summary = await api.deliver(endpoint.id, type, payloads[index] ?? "");
    expect(summary).toMatchObject({ eventType: type, succeeded: true });
    expect(receiver.requests[index]?.headers["x-service-event"]).toBe(type);
    expect(receiver.requests[index]?.body.toString()).toBe(payloads[index]);
  }
});
