import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { states, storeDelivery } from "./support/deliveries.ts";
import { create } from "./support/endpoints.ts";
import { type Client, useApi } from "./support/use-api.ts";

const HOUR_MS = 3_600_000;
/** In the middle of an hour, so that a few seconds more or less stay within it. */
const clock = steeredClock(new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2));
const api = useApi({ clock });
let client: Client;
let organizationId: string;
let endpoint: { id: string; organizationId: string };

beforeEach(async () => {
  organizationId = api.newOrganization();
  client = await api.as({ organizationId, expiresInS: 100_000 });
  const created = await create(client);
  endpoint = { id: created.endpoint.id, organizationId };
});

const hoursAgo = (hours: number) => new Date(clock.now().getTime() - hours * HOUR_MS);
const attempt = (deliveryId: string, number: number, statusCode = 500) =>
  api.prisma.deliveryAttempt.create({
    data: {
      deliveryId,
      number,
      startedAt: new Date(clock.now().getTime() - 10_000 + number * 1_000),
      durationMs: 40 + number,
      statusCode,
      errorSummary: statusCode < 300 ? null : "the receiver answered 500",
      responseExcerpt: "sorry",
    },
  });

describe("the history", () => {
  const path = () => `/webhooks/${endpoint.id}/deliveries`;

  test("the history comes newest first, in parts, each delivery once", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 25; index++) ids.unshift(await storeDelivery(api.prisma, endpoint, states.succeeded));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "?limit=10" : `?limit=10&cursor=${cursor}`;
      const { body } = await client.get(path() + query).expect(200);
      expect(body.deliveries.length).toBeLessThanOrEqual(10);
      seen.push(...body.deliveries.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
      // A new delivery doesn't move the older ones to another part.
      await storeDelivery(api.prisma, endpoint, states.waiting);
    } while (cursor !== null);
    expect(seen).toEqual(ids);
  });

  test("the history is filtered by outcome, event and time; outcome and event may be repeated", async () => {
    const ids: Record<string, string> = {};
    for (const [name, row] of Object.entries(states)) {
      ids[name] = await storeDelivery(api.prisma, endpoint, { ...row, createdAt: hoursAgo(2) });
    }
    ids.risk = await storeDelivery(api.prisma, endpoint, { eventType: "RiskCreated", createdAt: hoursAgo(1) });
    const filtered = async (query: string) => {
      const { body } = await client.get(`${path()}?${query}`).expect(200);
      const names = Object.entries(ids).map(([name, id]) => [id, name]);
      return body.deliveries.map(({ id }: { id: string }) => Object.fromEntries(names)[id]).reverse();
    };
    expect(await filtered("outcome=succeeded")).toEqual(["succeeded"]);
    expect(await filtered("outcome=failing")).toEqual(["failing", "parked"]);
    expect(await filtered("outcome=waiting")).toEqual(["waiting", "risk"]);
    expect(await filtered("outcome=exhausted&outcome=waiting")).toEqual(["waiting", "exhausted", "risk"]);
    expect(await filtered("eventType=RiskCreated")).toEqual(["risk"]);
    expect(await filtered("eventType=RiskCreated&eventType=ProjectCreated&outcome=succeeded")).toEqual([]);
    const between = hoursAgo(1.5).toISOString();
    expect(await filtered(`from=${between}`)).toEqual(["risk"]);
    expect(await filtered(`to=${between}&outcome=succeeded`)).toEqual(["succeeded"]);
  });

  test.each([
    ["limit=0", "?limit"],
    ["limit=101", "?limit"],
    ["limit=ten", "?limit"],
    ["outcome=broken", "?outcome/0"],
    ["eventType=*", "?eventType/0"],
    ["cursor=nothing", "?cursor"],
    ["from=yesterday", "?from"],
    ["to=0000-01-01T00:00:00Z", "?to"],
    ["from=2026-02-30T25:00:00Z", "?from"],
  ])("a history with %s is a 400 that names the parameter", async (query, pointer) => {
    const { body } = await client.get(`${path()}?${query}`).expect(400);
    expect(body.errors).toMatchObject([{ pointer }]);
  });

  test("a rare outcome in a long history comes in several parts, none of which is slow", async () => {
    const rare = await storeDelivery(api.prisma, endpoint, { ...states.exhausted, createdAt: hoursAgo(1) });
    await api.prisma.$executeRaw`
      insert into delivery (endpoint_id, organization_id, event_type, body, state, created_at)
      select ${endpoint.id}::uuid, ${organizationId}, 'RiskCreated', '{}', 'succeeded', now()
      from generate_series(1, 30000)`;
    const { body: first } = await client.get(`${path()}?outcome=exhausted`).expect(200);
    expect(first).toEqual({ deliveries: [], nextCursor: expect.any(String) });
    const { body: second } = await client.get(`${path()}?outcome=exhausted&cursor=${first.nextCursor}`).expect(200);
    expect(second).toMatchObject({ deliveries: [{ id: rare }], nextCursor: null });
  });
});

describe("one delivery", () => {
  test("a delivery shows the body as sent, its attempts, and the headers that the receiver got", async () => {
    const body = ' {"ä" : "\\u00e4"}\n';
    const id = await storeDelivery(api.prisma, endpoint, { ...states.failing, businessEventId: null, body });
    await attempt(id, 1);
    await attempt(id, 2, 503);
    const { body: details } = await client.get(`/webhooks/${endpoint.id}/deliveries/${id}`).expect(200);
    expect(details).toMatchObject({
      id,
      body,
      state: "pending",
      durationMs: 42,
      attempts: [{ number: 1 }, { number: 2 }],
    });
    const [first] = details.attempts;
    expect(first.timestamp).toBe(String(Math.floor(Date.parse(first.attemptedAtUtc) / 1_000)));
    expect(first.headers).toEqual([
      ["User-Agent", "Herald"],
      ["Content-Type", "application/json; charset=utf-8"],
      ["Content-Length", String(Buffer.byteLength(body))],
      ["X-Service-Timestamp", first.timestamp],
      ["X-Service-Event", "WorkItemCompleted"],
      ["X-Service-Delivery-Id", id],
      ["webhook-id", id],
      ["webhook-timestamp", first.timestamp],
    ]);
  });

  test("an automatic delivery shows its event's body", async () => {
    const id = await storeDelivery(api.prisma, endpoint, states.succeeded);
    const { body } = await client.get(`/webhooks/${endpoint.id}/deliveries/${id}`).expect(200);
    expect(JSON.parse(body.body)).toEqual({ id: body.businessEventId });
  });

  test("a delivery of another endpoint is a 404", async () => {
    const { endpoint: other } = await create(client);
    const id = await storeDelivery(api.prisma, endpoint, states.succeeded);
    const { body } = await client.get(`/webhooks/${other.id}/deliveries/${id}`).expect(404);
    expect(body.code).toBe("delivery_not_found");
    await client.get(`/webhooks/${endpoint.id}/deliveries/nothing`).expect(404);
  });
});
