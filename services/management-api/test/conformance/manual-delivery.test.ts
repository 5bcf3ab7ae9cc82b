import { type HttpsReceiver, httpsReceiver } from "@herald/testkit/harness/https-receiver";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { create, settings } from "../support/endpoints.ts";
import { receivedSignatureIsRight } from "../support/signature.ts";
import { type Client, useApi } from "../support/use-api.ts";
import { useDispatcher } from "../support/use-dispatcher.ts";

const dispatcher = useDispatcher();
const api = useApi({
  requestAttempt: dispatcher.requestAttempt,
  settings: { ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8" },
});
let receiver: HttpsReceiver;
let client: Client;

beforeAll(() => dispatcher.start(api.databaseUrl));
afterAll(() => dispatcher.stop());
beforeEach(async () => {
  receiver = await httpsReceiver();
  client = await api.as({ organizationId: api.newOrganization() });
});
afterEach(() => receiver.close());

const newEndpoint = (changes = {}) => create(client, { url: `${receiver.url}/hook`, ...changes });
const deliver = (id: string, payloadJson: string, eventType = "WorkItemCompleted") =>
  client.post(`/webhooks/${id}/deliver`, { eventType, payloadJson });

describe("an active, subscribed endpoint", () => {
  test("§4.1/deliver manual delivery answers 200 with the summary of the first attempt", async () => {
    const { endpoint } = await newEndpoint();
    const { body } = await deliver(endpoint.id, "{}").expect(200);
    expect(body).toEqual({
      id: expect.any(String),
      eventType: "WorkItemCompleted",
      attemptCount: 1,
      statusCode: 200,
      succeeded: true,
      errorSummary: null,
      attemptedAtUtc: expect.stringMatching(/Z$/),
    });
  });

  test("§4.1.2 §2.4/manual the JSON is sent without an envelope and without a businessEventId", async () => {
    const { endpoint } = await newEndpoint();
    const { body } = await deliver(endpoint.id, '{"order":7}').expect(200);
    expect(body).not.toHaveProperty("businessEventId");
    const [request] = await receiver.received(1);
    expect(request?.body.toString()).toBe('{"order":7}');
    expect(request?.headers["x-service-delivery-id"]).toBe(body.id);
    expect(request?.headers["x-service-event"]).toBe("WorkItemCompleted");
  });

  test("§4.1.2 it changes no business record", async () => {
    const { endpoint } = await newEndpoint();
    await deliver(endpoint.id, "{}").expect(200);
    expect(await api.prisma.businessEvent.count()).toBe(0);
  });

  const payloads: [name: string, payload: string][] = [
    ["whitespace", ' {\r\n\t"a" :  1 }\n'],
    ["non-ASCII text", '{"näme":"Größe 東京 🚀 é ‮\u200b"}'],
    ["escapes that JSON.stringify would undo", '{"a":"\\u00e9\\/\\u003c\\ud83d\\ude80"}'],
    ["half of a surrogate pair, escaped", '{"a":"\\ud800"}'],
    ["an escaped NUL", '{"a":"\\u0000"}'],
    ["duplicate and odd keys", '{"b":1,"a":2,"b":3,"__proto__":4,"":5}'],
    ["numbers beyond a double's digits", "[1.0, 1e400, 12345678901234567890.10, -0]"],
    ["a bare string", '"just text"'],
    ["a bare null", "null"],
    ["the separators U+2028 and U+2029", '"\u2028\u2029"'],
  ];
  test.each(payloads)("§4.1.4 %s arrives byte for byte, signed over those bytes", async (_name, payload) => {
    const { endpoint, signingSecret } = await newEndpoint();
    const { body } = await deliver(endpoint.id, payload).expect(200);
    expect(body.succeeded).toBe(true);
    const [request] = await receiver.received(1);
    expect(request?.body).toEqual(Buffer.from(payload));
    expect(receivedSignatureIsRight(request, signingSecret)).toBe(true);
    const { body: details } = await client.get(`/webhooks/${endpoint.id}/deliveries/${body.id}`).expect(200);
    expect(details.body).toBe(payload);
  });

  test("§4.1.4 the largest payload arrives byte for byte", async () => {
    const { endpoint, signingSecret } = await newEndpoint();
    const payload = JSON.stringify("é".repeat(128 * 1024 - 1));
    expect(Buffer.byteLength(payload)).toBe(256 * 1024);
    const { body } = await deliver(endpoint.id, payload).expect(200);
    expect(body.succeeded).toBe(true);
    const [request] = await receiver.received(1);
    expect(request?.body.equals(Buffer.from(payload))).toBe(true);
    expect(receivedSignatureIsRight(request, signingSecret)).toBe(true);
  });

  test("§4.1.3 §7/delivery it answers 200 also when the delivery failed; succeeded says so", async () => {
    receiver.answerWith({ status: 500 });
    const { endpoint } = await newEndpoint();
    const { body } = await deliver(endpoint.id, "{}").expect(200);
    expect(body).toMatchObject({ succeeded: false, statusCode: 500, attemptCount: 1 });
    expect(body.errorSummary).toEqual(expect.any(String));
  });

  test("§7/delivery §2.2/503 a receiver that doesn't answer in time is recorded as 503", async () => {
    receiver.answerWith({ fault: "hang" });
    const { endpoint } = await newEndpoint();
    const { body } = await deliver(endpoint.id, "{}").expect(200);
    expect(body).toMatchObject({
      succeeded: false,
      statusCode: 503,
      errorSummary: expect.stringContaining("timed out"),
    });
  });

  test("§3.2/retry a failed manual delivery is scheduled for a retry like any other", async () => {
    receiver.answerWith({ status: 500 });
    const { endpoint } = await newEndpoint();
    const { body } = await deliver(endpoint.id, "{}").expect(200);
    const { body: details } = await client.get(`/webhooks/${endpoint.id}/deliveries/${body.id}`).expect(200);
    expect(details.state).toBe("pending");
    const delayMs = Date.parse(details.nextAttemptAtUtc) - Date.parse(body.attemptedAtUtc);
    expect(delayMs).toBeGreaterThanOrEqual(60_000);
    expect(delayMs).toBeLessThan(65_000);
  });

  test("§2.3/current an attempt uses the current URL and the current secret", async () => {
    const { endpoint, signingSecret } = await newEndpoint();
    await deliver(endpoint.id, "{}").expect(200);
    const { body } = await client
      .put(
        `/webhooks/${endpoint.id}`,
        settings({ url: `${receiver.url}/new`, rotateSecret: true, version: endpoint.version }),
      )
      .expect(200);
    await deliver(endpoint.id, "{}").expect(200);
    const [first, second] = await receiver.received(2);
    expect([first?.path, second?.path]).toEqual(["/hook", "/new"]);
    expect(body.signingSecret).not.toBe(signingSecret);
    expect(receivedSignatureIsRight(first, signingSecret)).toBe(true);
    expect(receivedSignatureIsRight(second, signingSecret)).toBe(false);
    expect(receivedSignatureIsRight(second, body.signingSecret)).toBe(true);
  });
});

describe("what sends nothing", () => {
  test("§1/no-test-send creating, editing, resuming and checking an endpoint; only a delivery reaches the receiver", async () => {
    const { endpoint } = await newEndpoint({ enabled: false });
    const url = `${receiver.url}/hook`;
    await client.post("/webhooks/checks", { url }).expect(200);
    await client.put(`/webhooks/${endpoint.id}`, settings({ url, version: endpoint.version })).expect(200);
    await deliver(endpoint.id, '"the first"').expect(200);
    const requests = await receiver.received(1);
    expect(requests.map(({ body }) => body.toString())).toEqual(['"the first"']);
    expect(receiver.connections).toBe(1);
  });
});

describe("what it refuses", () => {
  test("§4.1.2 a paused endpoint takes no manual delivery", async () => {
    const { endpoint } = await newEndpoint({ enabled: false });
    const { body } = await deliver(endpoint.id, "{}").expect(400);
    expect(body.code).toBe("endpoint_disabled");
    expect(await api.prisma.delivery.count({ where: { endpointId: endpoint.id } })).toBe(0);
  });

  test("§4.1.2 an event that the endpoint isn't subscribed to", async () => {
    const { endpoint } = await newEndpoint();
    const { body } = await deliver(endpoint.id, "{}", "RiskCreated").expect(400);
    expect(body.code).toBe("event_not_subscribed");
    expect(body.detail).toContain("WorkItemCompleted");
  });

  test.each([
    ["no such event", { eventType: "workitemcompleted", payloadJson: "{}" }, "/eventType", "unknown_value"],
    ["a wildcard", { eventType: "*", payloadJson: "{}" }, "/eventType", "unknown_value"],
    ["no payload", { eventType: "WorkItemCompleted" }, "/payloadJson", "missing"],
    ["a payload that is an object", { eventType: "WorkItemCompleted", payloadJson: {} }, "/payloadJson", "wrong_type"],
    ["a payload that isn't JSON", { eventType: "WorkItemCompleted", payloadJson: "{a:1}" }, "/payloadJson", "not_json"],
    ["an empty payload", { eventType: "WorkItemCompleted", payloadJson: "" }, "/payloadJson", "not_json"],
    [
      "a payload that has no UTF-8",
      { eventType: "WorkItemCompleted", payloadJson: '"\ud800"' },
      "/payloadJson",
      "not_unicode",
    ],
    [
      "a payload that is too long",
      { eventType: "WorkItemCompleted", payloadJson: JSON.stringify("a".repeat(256 * 1024 - 1)) },
      "/payloadJson",
      "too_long",
    ],
  ])("§4.1/body §7/400 %s is a 400 that names the field", async (_name, request, pointer, code) => {
    const { endpoint } = await newEndpoint();
    const { body } = await client.post(`/webhooks/${endpoint.id}/deliver`, request).expect(400);
    expect(body.errors).toEqual([{ pointer, code, detail: expect.any(String) }]);
  });
});

describe("automatic disabling", () => {
  test("§3.1/failures five consecutive failures disable the endpoint, and its version changes", async () => {
    receiver.answerWith({ status: 500, body: "out of order" });
    const { endpoint } = await newEndpoint();
    const deliveryIds: string[] = [];
    for (let failures = 1; failures <= 5; failures++) {
      const { body } = await deliver(endpoint.id, "{}").expect(200);
      deliveryIds.push(body.id);
      const [listed] = (await client.get("/webhooks").expect(200)).body;
      expect(listed).toMatchObject({ consecutiveFailures: failures, enabled: failures < 5 });
      // Counting deliveries doesn't change the version, disabling does.
      if (failures < 5) expect(listed.version).toBe(endpoint.version);
      else expect(listed.version).not.toBe(endpoint.version);
    }
    const { body: details } = await client.get(`/webhooks/${endpoint.id}`).expect(200);
    expect(details).toMatchObject({ enabled: false, disabledReason: "failures", onResume: { missedEvents: 0 } });
    expect(details.failureRun.map((attempt: { deliveryId: string }) => attempt.deliveryId)).toEqual(deliveryIds);
    expect(details.failureRun[0]).toMatchObject({ attemptNumber: 1, statusCode: 500, responseExcerpt: "out of order" });
    await client.put(`/webhooks/${endpoint.id}`, settings({ version: endpoint.version })).expect(409);
  });

  test("§3.1/resume enabling it again resets the count", async () => {
    receiver.answerWith({ status: 500 });
    const { endpoint } = await newEndpoint();
    for (let failures = 1; failures <= 5; failures++) await deliver(endpoint.id, "{}").expect(200);
    const [{ version }] = (await client.get("/webhooks").expect(200)).body;
    const { body } = await client
      .put(`/webhooks/${endpoint.id}`, settings({ url: `${receiver.url}/hook`, version }))
      .expect(200);
    expect(body.endpoint).toMatchObject({ enabled: true, consecutiveFailures: 0 });
    const { body: details } = await client.get(`/webhooks/${endpoint.id}`).expect(200);
    expect(details).toMatchObject({ disabledReason: null, disabledAtUtc: null, failureRun: [], onResume: null });
    receiver.answerWith({ status: 204 });
    expect((await deliver(endpoint.id, "{}").expect(200)).body.succeeded).toBe(true);
  });

  test("§3.1/success a success resets the count", async () => {
    const { endpoint } = await newEndpoint();
    receiver.answerWith({ status: 500 });
    for (let failures = 1; failures <= 4; failures++) await deliver(endpoint.id, "{}").expect(200);
    receiver.answerWith({ status: 200 });
    await deliver(endpoint.id, "{}").expect(200);
    const [listed] = (await client.get("/webhooks").expect(200)).body;
    expect(listed).toMatchObject({ consecutiveFailures: 0, enabled: true, version: endpoint.version });
  });
});
