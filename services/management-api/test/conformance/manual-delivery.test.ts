import { setTimeout as sleep } from "node:timers/promises";
import { timeOf } from "@herald/common/database/ids";
import type { ManualRequest } from "@herald/contracts";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { ATTEMPTED_AT, states, storeDelivery, storeMany } from "../support/deliveries.ts";
import { type Client, create, useApi } from "../support/use-api.ts";

/** Leaves the delivery as a dispatcher would leave it; the tests decide how. If it returns false, the endpoint has no owner. */
let attempt: (request: ManualRequest) => Promise<unknown>;
let stopping: AbortController;
const manualWait = {
  timeoutMs: 600_000,
  get signal() {
    return stopping.signal;
  },
};
const api = useApi({
  tellOwner: async (message) => message.kind === "manual" && (await attempt(message)) !== false,
  manualWait,
});
let client: Client;
let organizationId: string;

beforeEach(async () => {
  attempt = async () => false;
  stopping = new AbortController();
  manualWait.timeoutMs = 600_000;
  organizationId = api.newOrganization();
  client = await api.as({ organizationId });
});

const deliver = (id: string, payloadJson: string, eventType = "WorkItemCompleted") =>
  client.post(`/webhooks/${id}/deliver`, { eventType, payloadJson });
const attempted = (row: object) => {
  attempt = ({ deliveryId }) => api.prisma.delivery.update({ where: { id: deliveryId }, data: row });
};

test("§4.1/deliver §4.1.2 regression: a manual delivery is stored as it will be sent, its owner is asked by the stored id, and it is no business event", async () => {
  const { endpoint } = await create(client);
  const requests: ManualRequest[] = [];
  attempt = async (request) => {
    requests.push(request);
    return false;
  };
  // Under an id in capitals, as many programs write UUIDs.
  const { body } = await deliver(endpoint.id.toUpperCase(), ' {"order":7}').expect(200);
  const { organizationId } = await api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } });
  const row = await api.prisma.delivery.findUniqueOrThrow({ where: { id: body.id } });
  expect(requests).toEqual([
    {
      ...{ kind: "manual", deliveryId: body.id, endpointId: endpoint.id, organizationId },
      dueAtUtc: row.nextAttemptAt?.toISOString(),
      traceparent: null,
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

test("§4.1/deliver a manual delivery's request waits for the first attempt, however late it is settled", async () => {
  const { endpoint } = await create(client);
  const { promise: told, resolve: tell } = Promise.withResolvers<string>();
  attempt = async ({ deliveryId }) => tell(deliveryId);
  const answered = deliver(endpoint.id, "{}").then(({ body }) => body);
  const id = await told;
  // A fixed wait, to show an absence: the row is read several times, and has no result.
  expect(await Promise.race([answered, sleep(500, "waits")])).toBe("waits");
  await api.prisma.delivery.update({ where: { id }, data: states.succeeded });
  expect(await answered).toMatchObject({ id, succeeded: true, attemptCount: 1 });
});

test("a manual delivery's request that waits is answered at once at a stop", async () => {
  const { endpoint } = await create(client);
  attempt = async () => stopping.abort();
  expect((await deliver(endpoint.id, "{}").expect(200)).body).toMatchObject({ attemptCount: 0, succeeded: false });
});

test("§4.1/deliver a manual delivery that no dispatcher attempts in time is kept, and answers with attemptCount 0", async () => {
  const { endpoint } = await create(client);
  attempt = async () => {};
  manualWait.timeoutMs = 50;
  const begun = Date.now();
  const { body } = await deliver(endpoint.id, "{}").expect(200);
  expect(body).toMatchObject({ attemptCount: 0, statusCode: null, succeeded: false, attemptedAtUtc: null });
  const row = await api.prisma.delivery.findUniqueOrThrow({ where: { id: body.id } });
  expect(row).toMatchObject({ state: "pending", attemptCount: 0 });
  const [due] = await api.prisma.due.findMany({ where: { endpointId: endpoint.id } });
  expect(due).toMatchObject({ deliveryId: body.id, attempts: 0, interruptions: 0 });
  // For this time the delivery is left to the request.
  expect((due?.dueAt.getTime() ?? 0) - row.createdAt.getTime()).toBe(3_000);
  expect(row.nextAttemptAt).toEqual(due?.dueAt);
  // The id is a UUIDv7 of the time at which the request asked for it.
  expect(body.id[14]).toBe("7");
  expect(timeOf(body.id).getTime()).toBeGreaterThanOrEqual(begun);
  expect(timeOf(body.id).getTime()).toBeLessThanOrEqual(row.createdAt.getTime());
});

test("§4.1.2 a paused endpoint takes no manual delivery", async () => {
  const { endpoint } = await create(client, { enabled: false });
  const { body } = await deliver(endpoint.id, "{}").expect(400);
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
])("§4.1/body §7/400 %s in a manual delivery is a 400 that names the field", async (_name, request, pointer, code) => {
  const { endpoint } = await create(client);
  const { body } = await client.post(`/webhooks/${endpoint.id}/deliver`, request).expect(400);
  expect(body.errors).toEqual([{ pointer, code, detail: expect.any(String) }]);
});

async function newEndpoint(): Promise<{ id: string; organizationId: string }> {
  return { id: (await create(client)).endpoint.id, organizationId };
}

describe("a delivery in the listing", () => {
  const shown = {
    waiting: { attemptCount: 0, statusCode: null, succeeded: false, errorSummary: null, attemptedAtUtc: null },
    failing: { attemptCount: 2, statusCode: 503, succeeded: false, errorSummary: "timed out after 15 s" },
    succeeded: { attemptCount: 1, statusCode: 204, succeeded: true, errorSummary: null },
    exhausted: { attemptCount: 5, statusCode: 410, succeeded: false, errorSummary: "the receiver answered 410" },
    expired: { attemptCount: 1, statusCode: 502, succeeded: false, errorSummary: null },
  };
  test.each(Object.keys(states) as (keyof typeof states)[])(
    "§2.2/fields §2.2/latest shows its latest attempt: %s",
    async (state) => {
      const endpoint = await newEndpoint();
      const id = await storeDelivery(api.prisma, endpoint, states[state]);
      const { id: businessEventId } = await api.prisma.businessEvent.findFirstOrThrow({ where: { organizationId } });
      const [{ deliveries }] = (await client.get("/webhooks").expect(200)).body;
      const attemptedAtUtc = state === "waiting" ? null : ATTEMPTED_AT.toISOString();
      expect(deliveries).toEqual([
        { id, businessEventId, eventType: "WorkItemCompleted", attemptedAtUtc, ...shown[state] },
      ]);
    },
  );

  test("§2.2/business-event a manual delivery has no businessEventId", async () => {
    await storeDelivery(api.prisma, await newEndpoint(), { body: "{}" });
    const [{ deliveries }] = (await client.get("/webhooks").expect(200)).body;
    expect(deliveries[0]).not.toHaveProperty("businessEventId");
  });
});

test("§2.1/deliveries §8/recent the 200 newest of many endpoints are listed, however unevenly they are spread", async () => {
  const endpoints: { id: string; organizationId: string }[] = [];
  for (let index = 0; index < 12; index++) endpoints.push(await newEndpoint());
  // The first endpoint is quiet, the last one gets a hundred times as much.
  for (const [index, endpoint] of endpoints.entries()) await storeMany(api.prisma, endpoint, 5 + index ** 3);
  for (const endpoint of endpoints) await storeMany(api.prisma, endpoint, 10);
  const stored = await api.prisma.delivery.findMany({
    where: { organizationId },
    orderBy: { id: "desc" },
    select: { id: true, endpointId: true },
    take: 200,
  });
  const listed: { id: string; deliveries: { id: string }[] }[] = (await client.get("/webhooks").expect(200)).body;
  expect(listed.flatMap(({ deliveries }) => deliveries)).toHaveLength(200);
  for (const { id, deliveries } of listed) {
    expect(deliveries.map((delivery) => delivery.id)).toEqual(
      stored.filter(({ endpointId }) => endpointId === id).map((delivery) => delivery.id),
    );
  }
});

test("§2.1/deliveries the order is that of the events' times, even if a delivery was stored later", async () => {
  const endpoint = await newEndpoint();
  const now = Date.now();
  const recent = await storeDelivery(api.prisma, endpoint, { createdAt: new Date(now) });
  const caughtUp = await storeDelivery(api.prisma, endpoint, { createdAt: new Date(now - 3_600_000) });
  await api.prisma.delivery.update({ where: { id: caughtUp }, data: { createdAt: new Date(now + 60_000) } });
  expect((await client.get("/webhooks").expect(200)).body[0].deliveries).toMatchObject([
    { id: recent },
    { id: caughtUp },
  ]);
});

test("§2.1/deliveries other organizations' deliveries take none of the places", async () => {
  const endpoint = await newEndpoint();
  const id = await storeDelivery(api.prisma, endpoint);
  const other = await api.as({ organizationId: api.newOrganization() });
  const { endpoint: theirs } = await create(other);
  await storeMany(api.prisma, { id: theirs.id, organizationId: "organization-other" }, 250);
  expect((await client.get("/webhooks").expect(200)).body[0].deliveries).toMatchObject([{ id }]);
});

test("without a partition for the time, since no publisher runs, a manual delivery is a 503, and the log says what to do", async () => {
  const { endpoint } = await create(client);
  await api.prisma.$executeRaw`select drop_partitions('1970-01-01')`;
  try {
    const { body } = await deliver(endpoint.id, "{}").expect(503);
    expect(body.code).toBe("database_unavailable");
    expect(api.logged.some((line) => line.includes("there is no partition for this time"))).toBe(true);
  } finally {
    await api.prisma.$queryRaw`select make_partitions('1970-01-01', '2200-01-01')`;
  }
});
