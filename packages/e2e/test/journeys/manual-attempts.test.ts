import { createHmac } from "node:crypto";
import type { DeliveryDetails, SaveWebhookResponse, WebhookDeliverySummary } from "@herald/contracts";
import type { ReceivedRequest } from "@herald/dev/harness/https-receiver";
import { describe, expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

/** SPEC 4.3, written here once more and not shared with the sender, so that both can't be wrong in the same way. */
function hasRightSignature(request: ReceivedRequest | undefined, secret: string | null): boolean {
  if (request === undefined || secret === null) throw new Error("There is no request or no secret to compare.");
  const timestamp = String(request.headers["x-service-timestamp"]);
  const digest = createHmac("sha256", secret).update(`${timestamp}.`).update(request.body).digest("hex");
  return request.headers["x-service-signature"] === `sha256=${digest}`;
}

describe("with a dispatcher", () => {
  const environment = useTestEnvironment({ publisher: false });
  const create = (changes = {}): Promise<SaveWebhookResponse> =>
    environment.api.create({ url: `${environment.receiver.url}/hook`, ...changes });
  const deliver = (endpointId: string, payload = "{}"): Promise<WebhookDeliverySummary> =>
    environment.api.deliver(endpointId, "WorkItemCompleted", payload);
  const deliveryOf = (endpointId: string, { id }: WebhookDeliverySummary) =>
    environment.api.call<DeliveryDetails>("GET", `/${endpointId}/deliveries/${id}`);

  test("§4.1/deliver a manual delivery is answered with the summary of its first attempt", async () => {
    const { endpoint } = await create();
    expect(await deliver(endpoint.id)).toEqual({
      id: expect.any(String),
      eventType: "WorkItemCompleted",
      attemptCount: 1,
      statusCode: 200,
      succeeded: true,
      errorSummary: null,
      attemptedAtUtc: expect.stringMatching(/Z$/),
    });
  });

  test("§4.1.2 §2.4/manual a manual payload is sent without an envelope and without a businessEventId", async () => {
    const { receiver, db } = environment;
    const { endpoint } = await create();
    const summary = await deliver(endpoint.id, '{"order":7}');
    expect(summary).not.toHaveProperty("businessEventId");
    const [request] = await receiver.received(1);
    expect(request?.body.toString()).toBe('{"order":7}');
    expect(request?.headers["x-service-delivery-id"]).toBe(summary.id);
    expect(request?.headers["x-service-event"]).toBe("WorkItemCompleted");
    expect(await db.database.prisma.businessEvent.count()).toBe(0);
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
    ["the largest payload", JSON.stringify("é".repeat(128 * 1024 - 1))],
  ];
  test("§4.1.4 a manual payload of any JSON arrives byte for byte, signed over those bytes", async () => {
    const { endpoint, signingSecret } = await create();
    for (const [index, [name, payload]] of payloads.entries()) {
      const summary = await deliver(endpoint.id, payload);
      const request = (await environment.receiver.received(index + 1))[index];
      const { body } = await deliveryOf(endpoint.id, summary);
      expect({
        name,
        succeeded: summary.succeeded,
        isWhole: request?.body.equals(Buffer.from(payload)),
        isSigned: hasRightSignature(request, signingSecret),
        isShown: body === payload,
      }).toEqual({ name, succeeded: true, isWhole: true, isSigned: true, isShown: true });
    }
    expect(Buffer.byteLength(payloads.at(-1)?.[1] ?? "")).toBe(256 * 1024);
  });

  test("§2.3/current a manual attempt uses the current URL and the current secret", async () => {
    const { api, receiver } = environment;
    const { endpoint, signingSecret } = await create();
    await deliver(endpoint.id);
    const edited = await api.edit(endpoint.id, { url: `${receiver.url}/new`, rotateSecret: true });
    await deliver(endpoint.id);
    const [first, second] = await receiver.received(2);
    expect([first?.path, second?.path]).toEqual(["/hook", "/new"]);
    expect(edited.signingSecret).not.toBe(signingSecret);
    expect(hasRightSignature(first, signingSecret)).toBe(true);
    expect(hasRightSignature(second, signingSecret)).toBe(false);
    expect(hasRightSignature(second, edited.signingSecret)).toBe(true);
  });

  test("§1/no-test-send creating, checking and resuming an endpoint sends nothing; only a delivery reaches the receiver", async () => {
    const { api, receiver } = environment;
    const { endpoint } = await create({ enabled: false });
    await api.call("POST", "/checks", { url: `${receiver.url}/hook` });
    await api.edit(endpoint.id, { enabled: true });
    await deliver(endpoint.id, '"the first"');
    const requests = await receiver.received(1);
    expect(requests.map(({ body }) => body.toString())).toEqual(['"the first"']);
    expect(receiver.connections).toBe(1);
  });
});

describe("with a dispatcher that waits two seconds for a receiver", () => {
  const environment = useTestEnvironment({ publisher: false, settings: { ATTEMPT_TIMEOUT_SECONDS: "2" } });

  test("§7/delivery §2.2/503 a manual attempt that the receiver doesn't answer in time is recorded as 503", async () => {
    const { api, receiver } = environment;
    receiver.answerWith({ fault: "hang" });
    const { endpoint } = await api.create({ url: receiver.url });
    expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({
      succeeded: false,
      statusCode: 503,
      errorSummary: expect.stringContaining("timed out"),
    });
  });
});
