import { timeOf } from "@herald/common/database/ids";
import type { ManualRequest } from "@herald/contracts";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { ATTEMPTED_AT, states } from "../support/deliveries.ts";
import { create } from "../support/endpoints.ts";
import { type Client, useApi } from "../support/use-api.ts";

/** Leaves the delivery as a dispatcher would leave it; the tests decide how. */
let attempt: (request: ManualRequest) => Promise<unknown> = async () => {};
const api = useApi({
  requestAttempt: async (request) => {
    await attempt(request);
  },
});
let client: Client;

beforeEach(async () => {
  attempt = async () => {};
  client = await api.as({ organizationId: api.newOrganization() });
});

const deliver = (id: string, payloadJson: string, eventType = "WorkItemCompleted") =>
  client.post(`/webhooks/${id}/deliver`, { eventType, payloadJson });
const attempted = (row: object) => {
  attempt = ({ deliveryId }) => api.prisma.delivery.update({ where: { id: deliveryId }, data: row });
};

describe("an active, subscribed endpoint", () => {
  test("§4.1/deliver §4.1.2 a manual delivery is stored as it will be sent, and is no business event", async () => {
    const { endpoint } = await create(client);
    const requests: ManualRequest[] = [];
    attempt = async (request) => requests.push(request);
    const { body } = await deliver(endpoint.id, ' {"order":7}').expect(200);
    const { organizationId } = await api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } });
    const row = await api.prisma.delivery.findUniqueOrThrow({ where: { id: body.id } });
    expect(requests).toEqual([
      {
        ...{ kind: "manual", deliveryId: body.id, endpointId: endpoint.id, organizationId },
        dueAtUtc: row.nextAttemptAt?.toISOString(),
      },
    ]);
    expect(row).toMatchObject({
      endpointId: endpoint.id,
      body: ' {"order":7}',
      eventKey: null,
      state: "pending",
    });
    expect(await api.prisma.businessEvent.count()).toBe(0);
  });

  test("§4.1/deliver a manual delivery answers 200 with the summary of the first attempt", async () => {
    const { endpoint } = await create(client);
    attempted(states.succeeded);
    const { body } = await deliver(endpoint.id, "{}").expect(200);
    expect(body).toEqual({
      id: expect.any(String),
      eventType: "WorkItemCompleted",
      attemptCount: 1,
      statusCode: 204,
      succeeded: true,
      errorSummary: null,
      attemptedAtUtc: ATTEMPTED_AT.toISOString(),
    });
  });

  test("§4.1.3 §7/delivery a manual delivery answers 200 also when its attempt failed, and says so", async () => {
    const { endpoint } = await create(client);
    attempted({ ...states.failing, attemptCount: 1 });
    const { body } = await deliver(endpoint.id, "{}").expect(200);
    expect(body).toMatchObject({
      succeeded: false,
      statusCode: 503,
      attemptCount: 1,
      errorSummary: "timed out after 15 s",
    });
  });

  test("§4.1/deliver a manual delivery that no dispatcher attempts in time is kept, and answers with attemptCount 0", async () => {
    const { endpoint } = await create(client);
    const begun = Date.now();
    const { body } = await deliver(endpoint.id, "{}").expect(200);
    expect(body).toMatchObject({ attemptCount: 0, statusCode: null, succeeded: false, attemptedAtUtc: null });
    const row = await api.prisma.delivery.findUniqueOrThrow({ where: { id: body.id } });
    expect(row).toMatchObject({ state: "pending", attemptCount: 0 });
    const [due] = await api.prisma.due.findMany({ where: { endpointId: endpoint.id } });
    expect(due).toMatchObject({ deliveryId: body.id, attempts: 0, interruptions: 0 });
    // For so long it is left to the request.
    expect((due?.dueAt.getTime() ?? 0) - row.createdAt.getTime()).toBe(3_000);
    expect(row.nextAttemptAt).toEqual(due?.dueAt);
    // The id is a UUIDv7 of the time at which the request asked for it.
    expect(body.id[14]).toBe("7");
    expect(timeOf(body.id).getTime()).toBeGreaterThanOrEqual(begun);
    expect(timeOf(body.id).getTime()).toBeLessThanOrEqual(row.createdAt.getTime());
  });
});

describe("what a manual delivery is refused for", () => {
  test("§4.1.2 a paused endpoint takes no manual delivery", async () => {
    const { endpoint } = await create(client, { enabled: false });
    const { body } = await deliver(endpoint.id, "{}").expect(409);
    expect(body.code).toBe("endpoint_disabled");
    expect(await api.prisma.delivery.count({ where: { endpointId: endpoint.id } })).toBe(0);
  });

  test("§4.1.2 an endpoint takes no manual delivery of an event that it isn't subscribed to", async () => {
    const { endpoint } = await create(client);
    const { body } = await deliver(endpoint.id, "{}", "RiskCreated").expect(400);
    expect(body.code).toBe("event_not_subscribed");
    expect(body.detail).toContain("WorkItemCompleted");
  });

  test.each([
    ["no such event", { eventType: "workitemcompleted", payloadJson: "{}" }, "/eventType", "unknown_value"],
    ["no payload", { eventType: "WorkItemCompleted" }, "/payloadJson", "missing"],
    ["a payload that isn't JSON", { eventType: "WorkItemCompleted", payloadJson: "{a:1}" }, "/payloadJson", "not_json"],
  ])(
    "§4.1/body §7/400 %s in a manual delivery is a 400 that names the field",
    async (_name, request, pointer, code) => {
      const { endpoint } = await create(client);
      const { body } = await client.post(`/webhooks/${endpoint.id}/deliver`, request).expect(400);
      expect(body.errors).toEqual([{ pointer, code, detail: expect.any(String) }]);
    },
  );
});
