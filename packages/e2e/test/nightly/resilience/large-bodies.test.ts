import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

// Sender and receiver share a process here, and a busy machine makes a hundred handshakes at once take their time.
const environment = useTestEnvironment({ settings: { ATTEMPT_TIMEOUT_SECONDS: "60" } });

test("a body of 256 KiB arrives at each of an organization's 100 endpoints, byte for byte", async () => {
  const { api, receiver, emitter } = environment;
  for (let index = 0; index < 100; index++) await api.create({ url: `${receiver.url}/${index}` });
  const envelope = Buffer.byteLength(JSON.stringify(environment.event({ data: { text: "" } })));
  const event = environment.event({ data: { text: "é".repeat((256 * 1024 - envelope) >> 1) } });
  await emitter.emit(event);
  await receiver.received(100, 60_000);
  const { id, type, occurredAtUtc, entityType, entityId, data } = event;
  const body = Buffer.from(JSON.stringify({ id, type, occurredAtUtc, entityType, entityId, data }));
  expect(receiver.requests.every((request) => request.body.equals(body))).toBe(true);
  expect(new Set(receiver.requests.map(({ path }) => path)).size).toBe(100);
  await eventually(async () => {
    const deliveries = (await api.list()).flatMap((endpoint) => endpoint.deliveries);
    expect(deliveries.filter(({ succeeded }) => succeeded)).toHaveLength(100);
  });
}, 120_000);
