import { attemptHeaders } from "@herald/common/security/attempt-headers";
import { EVENT_TYPES, type EventType, samplePayload } from "@herald/contracts";
import { eventPayloadSchema, eventSchema } from "@herald/contracts/schemas";
import type { ReceivedRequest } from "@herald/dev/harness/https-receiver";
import { requestMaker } from "@herald/listen";
import { EVENT_TYPES as RECEIVER_TYPES, readEvent } from "@herald/receiver";
import { expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import fc from "fast-check";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
(addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);

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
  // As PostgreSQL writes UTC.
  await emitter.emit(environment.event({ occurredAtUtc: occurredAtUtc.replace("Z", "+00:00") }));
  await receiver.received(1);
  await environment.settled();
  await environment.advanceToNextAttempts(endpoint.id);
  const requests = await receiver.received(2);
  expect(requests.map((request) => payloadOf(request).occurredAtUtc)).toEqual([occurredAtUtc, occurredAtUtc]);
  expect(requests[1]?.headers["x-service-timestamp"]).toBe(String(Math.floor(clock.now().getTime() / 1_000)));
});

const keepsContract = ajv.compile(eventPayloadSchema);

test("§6/names the receiver's package knows the events of the contract", () => {
  expect(RECEIVER_TYPES).toEqual(EVENT_TYPES);
});
test("§2.4/tolerant whatever keeps the contract is an event to the receiver's package", () => {
  const text = fc.oneof(fc.string(), fc.constant(null));
  const changes = fc.dictionary(fc.string(), fc.record({ oldValue: text, newValue: text }));
  const events = fc.record({
    id: fc.uuid(),
    type: fc.constantFrom(...EVENT_TYPES),
    occurredAtUtc: fc.constantFrom("2026-11-20T09:30:00Z", "2026-11-20T09:30:00.123456Z"),
    entityType: fc.string({ minLength: 1, maxLength: 20 }),
    entityId: fc.uuid().map((id) => id.toUpperCase()),
    data: fc.oneof(fc.record({ changes }), fc.dictionary(fc.constantFrom("hours", "note"), fc.jsonValue())),
  });
  fc.assert(
    fc.property(events, (event) => {
      keepsContract(event);
      expect(keepsContract.errors ?? []).toEqual([]);
      expect(readEvent(event)).toBe(event);
    }),
  );
});

test("§2.4/fields an event that lacks a field is none to the receiver's package, as the contract says", () => {
  const event = samplePayload("RiskCreated");
  for (const field of Object.keys(event)) {
    const lacking = { ...event, [field]: undefined };
    expect([field, readEvent(lacking)]).toEqual([field, null]);
    expect([field, keepsContract(JSON.parse(JSON.stringify(lacking)))]).toEqual([field, false]);
  }
});

test("§4.2/headers §4.3.3 a good request of herald-listen check has the headers of an attempt, one by one", () => {
  const secret = "mT1y+Zq0v9u4m2l8J7hF3kD5sA6pW1xC0eR9tYbNvQs=";
  const startedAt = new Date("2026-11-20T09:30:00.400Z");
  const body = Buffer.from('{"id":"0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6e","name":"Größe"}');
  const attempt = { deliveryId: "0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6f", eventType: "RiskCreated" as const, body };
  for (const headerPrefix of ["X-Service", "Acme"]) {
    const { eventType } = attempt;
    const maker = requestMaker({ secret, eventType, headerPrefix, now: startedAt });
    const sent = maker.signed(attempt);
    const real = attemptHeaders({ ...attempt, startedAt }, { headerPrefix, standardWebhooks: true }, secret);
    expect(sent).toEqual({ method: "POST", headers: real, body });
  }
});
