import { setTimeout as sleep } from "node:timers/promises";
import { type DeliveryDetails, EVENT_TYPES, type EventType } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { verify } from "@herald/receiver";
import { describe, expect, test } from "@jest/globals";
import { Webhook } from "standardwebhooks";
import { useTestEnvironment } from "./test-environment.ts";

/** JSON that a writer who parses it first would change. */
const PAYLOADS = [
  '{ "b": 1.0,\n\t"a": "é\\u00e9\u{1F600}",  "b": 1e2 }',
  ' {\r\n\t"a" :  1 }\n',
  '{"näme":"Größe 東京 🚀 é ‮\u200b"}',
  '{"a":"\\u00e9\\/\\u003c\\ud83d\\ude80"}',
  '{"a":"\\ud800\\u0000"}',
  '{"b":1,"a":2,"b":3,"__proto__":4,"":5}',
  "[1.0, 1e400, 12345678901234567890.10, -0]",
  '"just text"',
  "null",
  "{}",
  '{"id":7,"type":"another"}',
  '"\u2028\u2029"',
  // The largest that there may be.
  JSON.stringify("é".repeat(128 * 1024 - 1)),
];

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

describe.each([
  ["apart", false],
  ["as one", true],
])("with the three services %s", (_, asOne) => {
  const environment = useTestEnvironment({ asOne, partitioned: false });

  test("§1/events §2.2/fields §2.4/fields §4.2/headers §5.5 an emitted event arrives as a signed POST, and the list shows it as succeeded", async () => {
    const { api, receiver, emitter } = environment;
    const { endpoint, signingSecret } = await api.create({ url: `${receiver.url}/hooks?tenant=1` });
    const event = environment.event();
    await emitter.emit(event, { traceparent: TRACEPARENT });
    const [request] = await receiver.received(1);
    const delivery = await eventually(async () => {
      const [only] = (await api.get(endpoint.id)).deliveries;
      expect(only?.succeeded).toBe(true);
      return only;
    });

    expect(request?.method).toBe("POST");
    expect(request?.path).toBe("/hooks?tenant=1");
    expect(request?.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "x-service-event": "WorkItemCompleted",
      "x-service-delivery-id": delivery?.id,
    });
    expect(request?.headers["x-service-signature"]).toMatch(/^sha256=[0-9a-f]{64}$/);
    const { id, type, occurredAtUtc, entityType, entityId, data } = event;
    const payload = { id, type, occurredAtUtc, entityType, entityId, data };
    expect(request?.body.toString()).toBe(JSON.stringify(payload));
    expect(delivery).toEqual({
      id: expect.any(String),
      businessEventId: event.id,
      eventType: "WorkItemCompleted",
      attemptCount: 1,
      statusCode: 200,
      succeeded: true,
      errorSummary: null,
      attemptedAtUtc: environment.clock.now().toISOString(),
    });

    // The receiver's kit and the Standard Webhooks library, each with nothing but the secret that was shown once.
    const { headers, body } = request as NonNullable<typeof request>;
    const secret = signingSecret as string;
    expect(verify({ secret, headers, body, now: environment.clock.now() })).toMatchObject({ ok: true });
    const standard = new Webhook(secret).verify(body, headers as Record<string, string>);
    expect(standard).toEqual(payload);

    // The history shows the headers that came, but for the signatures, which are not stored, and for the host and the connection.
    const { attempts } = await api.read<DeliveryDetails>(`/${endpoint.id}/deliveries/${delivery?.id}`);
    const { rawHeaders } = request as NonNullable<typeof request>;
    const pairs = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1]]] : []));
    const hidden = ["host", "connection", "x-service-signature", "webhook-signature"];
    expect(attempts[0]?.headers).toEqual(pairs.filter(([name = ""]) => !hidden.includes(name.toLowerCase())));
    expect(headers.traceparent).toBe(TRACEPARENT);
  });

  test("§2.2/id §2.3/current §3.2/resent a retry keeps delivery id and body, has a new timestamp and signature, and uses the current URL and secret", async () => {
    const { api, receiver, emitter, clock } = environment;
    const created = await api.create({ url: `${receiver.url}/old` });
    const { id } = created.endpoint;
    receiver.answerWith((_request, index) => ({ status: index < 4 ? 500 : 200 }));
    await emitter.emit(environment.event(), { traceparent: TRACEPARENT });

    await receiver.received(1);
    await environment.settled();
    // A success in between keeps the endpoint from being disabled, and an edit changes what later attempts use.
    const edited = await api.edit(id, { url: `${receiver.url}/new`, rotateSecret: true });
    for (const [index, minutes] of [1, 2, 4, 8].entries()) {
      const endedAt = clock.now().getTime();
      const dueAt = await environment.advanceToNextAttempts(id, { beforeMs: 1_000 });
      // The delay runs from the attempt's end, which is at most 15 seconds after the time that stands still here.
      expect(dueAt.getTime() - endedAt).toBeGreaterThanOrEqual(minutes * 60_000);
      expect(dueAt.getTime() - endedAt).toBeLessThanOrEqual(minutes * 60_000 + 15_000);
      // A fixed time, to see that nothing comes: some looks for what is due pass meanwhile.
      await sleep(150);
      expect(receiver.requests).toHaveLength(index + 1);
      await environment.advanceToNextAttempts(id);
      await receiver.received(index + 2);
      await environment.settled();
      expect((await api.get(id)).deliveries).toMatchObject([{ attemptCount: index + 2 }]);
    }

    expect(receiver.requests).toHaveLength(5);
    const [first, ...retries] = receiver.requests;
    const unique = (read: (request: (typeof receiver.requests)[number]) => unknown) =>
      new Set(receiver.requests.map(read)).size;
    expect(unique((request) => request.headers["x-service-delivery-id"])).toBe(1);
    expect(unique((request) => request.body.toString("hex"))).toBe(1);
    expect(unique((request) => request.headers["x-service-timestamp"])).toBe(5);
    expect(unique((request) => request.headers["x-service-signature"])).toBe(5);
    expect(first?.path).toBe("/old");
    for (const { path, headers, body } of retries) {
      expect([path, headers.traceparent]).toEqual(["/new", TRACEPARENT]);
      const now = new Date(Number(headers["x-service-timestamp"]) * 1_000);
      expect(verify({ secret: edited.signingSecret as string, headers, body, now }).ok).toBe(true);
      expect(verify({ secret: created.signingSecret as string, headers, body, now }).ok).toBe(false);
    }
    expect((await api.get(id)).deliveries).toMatchObject([{ attemptCount: 5, succeeded: true, statusCode: 200 }]);
  });

  test("§4.1.2 §4.1.4 §6.5 §2.4/manual a manual payload of any JSON and any event, ProjectUpdated too, is sent byte for byte, signed over those bytes, and the answer is the first attempt's", async () => {
    const { api, receiver } = environment;
    const { endpoint, signingSecret } = await api.create({ url: receiver.url, events: [...EVENT_TYPES] });
    for (const [index, payloadJson] of PAYLOADS.entries()) {
      const eventType = EVENT_TYPES[index % EVENT_TYPES.length] as EventType;
      const summary = await api.deliver(endpoint.id, eventType, payloadJson);
      expect(summary).toMatchObject({ eventType, attemptCount: 1, succeeded: true, statusCode: 200 });
      expect(summary).not.toHaveProperty("businessEventId");
      const { headers, body } = receiver.requests[index] as (typeof receiver.requests)[number];
      // By Buffer's own comparison: jest compares byte by byte.
      expect([payloadJson.slice(0, 50), body.equals(Buffer.from(payloadJson))]).toEqual([
        payloadJson.slice(0, 50),
        true,
      ]);
      expect(verify({ secret: signingSecret as string, headers, body, now: environment.clock.now() }).ok).toBe(true);
      expect(headers).toMatchObject({ "x-service-delivery-id": summary.id, "x-service-event": eventType });
      const details = await api.read<DeliveryDetails>(`/${endpoint.id}/deliveries/${summary.id}`);
      expect(details.body === payloadJson).toBe(true);
    }
  });
});
