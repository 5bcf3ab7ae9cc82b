import { randomUUID } from "node:crypto";
import { insertDelivery, insertEvent } from "@herald/dev/harness/rows";
import { middleOfHour, steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { states, storeDelivery, storeFirstAttempt } from "./support/deliveries.ts";
import { type Client, create, useApi } from "./support/use-api.ts";

const HOUR_MS = 3_600_000;
const clock = steeredClock(middleOfHour());
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

  test("the history is searched by event, entity and delivery, each also with other filters", async () => {
    const { endpoint: other } = await create(client);
    const about = randomUUID();
    const stored = await insertEvent(api.prisma, organizationId, { entityId: about, occurredAt: hoursAgo(3) });
    const later = await insertEvent(api.prisma, organizationId, { entityId: about, occurredAt: hoursAgo(2) });
    const of = async (to: string, { key }: { key: string }, row: object = states.succeeded) =>
      (await insertDelivery(api.prisma, { id: to, organizationId }, { ...row, eventKey: key })).id;
    const wanted = await of(endpoint.id, stored);
    const newer = await of(endpoint.id, later, states.exhausted);
    const elsewhere = await of(other.id, stored);
    const manual = await storeDelivery(api.prisma, endpoint, { ...states.succeeded, body: "{}" });
    await storeDelivery(api.prisma, endpoint, states.succeeded);
    const search = async (query: string) => {
      const { body } = await client.get(`${path()}?${query}`).expect(200);
      return body.deliveries.map(({ id }: { id: string }) => id);
    };
    expect(await search(`eventId=${stored.id}`)).toEqual([wanted]);
    expect(await search(`eventId=${stored.id.toUpperCase()}`)).toEqual([wanted]);
    expect(await search(`entityId=${about}`)).toEqual([newer, wanted]);
    expect(await search(`entityId=${about}&outcome=exhausted`)).toEqual([newer]);
    expect(await search(`entityId=${about}&eventId=${stored.id}`)).toEqual([wanted]);
    expect(await search(`entityId=${about}&deliveryId=${newer}`)).toEqual([newer]);
    expect(await search(`deliveryId=${wanted.toUpperCase()}`)).toEqual([wanted]);
    expect(await search(`deliveryId=${manual}`)).toEqual([manual]);
    expect(await search(`deliveryId=${elsewhere}`)).toEqual([]);
    expect(await search(`deliveryId=${wanted}&statusCode=500`)).toEqual([]);
    expect(await search(`eventId=${randomUUID()}`)).toEqual([]);
    const { nextCursor } = (await client.get(`${path()}?entityId=${about}&limit=1`).expect(200)).body;
    expect(await search(`entityId=${about}&cursor=${nextCursor}`)).toEqual([wanted]);
    expect(await search(`deliveryId=${newer}&cursor=${nextCursor}`)).toEqual([]);
    await client.get(`/webhooks/${randomUUID()}/deliveries?eventId=${stored.id}`).expect(404, /webhook_not_found/);
  });

  test("an entity with more events than one answer looks at comes in several parts", async () => {
    const about = randomUUID();
    const first = await insertEvent(api.prisma, organizationId, { entityId: about, occurredAt: hoursAgo(3) });
    const { id } = await insertDelivery(api.prisma, endpoint, { ...states.succeeded, eventKey: first.key });
    // 2,500 events that this endpoint has no delivery of.
    await api.prisma.$executeRaw`
      insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
      select ${organizationId}, event_key(${organizationId}, id, at), id, 'RiskCreated', ${about}::uuid, at, at, '{}'
      from generate_series(1, 2500) as number
      cross join lateral (
        select gen_random_uuid() as id, ${hoursAgo(2)}::timestamptz + number / 2 * interval '1 ms' as at
      ) as event`;
    const { body: part } = await client.get(`${path()}?entityId=${about}`).expect(200);
    expect(part).toEqual({ deliveries: [], nextCursor: expect.any(String) });
    const { body: rest } = await client.get(`${path()}?entityId=${about}&cursor=${part.nextCursor}`).expect(200);
    expect(rest).toMatchObject({ deliveries: [{ id }], nextCursor: null });
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=ten", "limit"],
    ["outcome=broken", "outcome"],
    ["eventType=*", "eventType"],
    ["cursor=nothing", "cursor"],
    ["statusCode=99", "statusCode"],
    ["eventId=1", "eventId"],
    ["from=2026-02-01T00:00:00Z&to=2026-01-31T23:00:00-00:30", "from"],
    ["limit=1&limit=2", "limit"],
    ["evenType=RiskCreated", "evenType"],
  ])("a history with %s is a 400 that names the parameter", async (query, parameter) => {
    const { body } = await client.get(`${path()}?${query}`).expect(400);
    expect(body.errors).toMatchObject([{ parameter }]);
    expect(body.detail).toContain(parameter);
  });
});

test("a delivery shows the body as sent, its attempts, and the headers that the receiver got", async () => {
  const body = ' {"ä" : "\\u00e4"}\n';
  const id = await storeDelivery(api.prisma, endpoint, { ...states.failing, durationMs: 42, body });
  await storeFirstAttempt(api.prisma, id, clock.now());
  const { body: details } = await client.get(`/webhooks/${endpoint.id}/deliveries/${id}`).expect(200);
  expect(details).toMatchObject({
    id,
    body,
    outcome: "failing",
    durationMs: 42,
    attempts: [
      { number: 1, durationMs: 41, statusCode: 500 },
      { number: 2, durationMs: 42, statusCode: 503, failureKind: "timed_out" },
    ],
  });
  const [first] = details.attempts;
  expect(first.timestamp).toBe(String(Math.floor(Date.parse(first.attemptedAtUtc) / 1_000)));
  expect(first.headers).toEqual([
    ["User-Agent", "Herald"],
    ["Accept", "*/*"],
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

test.each<[string, object, object]>([
  ["waits for its time", { dueAt: hoursAgo(-1) }, { inFlight: false, nextAttemptAtUtc: hoursAgo(-1).toISOString() }],
  ["is due", { dueAt: hoursAgo(1) }, { inFlight: true, nextAttemptAtUtc: null }],
  ["is due since it was made", {}, { inFlight: true, nextAttemptAtUtc: null }],
])("an unfinished delivery that %s says whether it is due, and when it will be", async (_name, due, shown) => {
  const id = await storeDelivery(api.prisma, endpoint, { ...states.failing, createdAt: hoursAgo(2), due });
  const expected = { outcome: "failing", attemptCount: 2, ...shown };
  expect((await client.get(`/webhooks/${endpoint.id}/deliveries/${id}`).expect(200)).body).toMatchObject(expected);
  const { body } = await client.get(`/webhooks/${endpoint.id}/deliveries`).expect(200);
  expect(body.deliveries).toMatchObject([{ id, ...expected }]);
});

test("§3.1/pause an unfinished delivery is parked while its endpoint is disabled, and failing again after", async () => {
  const due = { dueAt: new Date(Date.now() + 3_600_000) };
  const id = await storeDelivery(api.prisma, endpoint, { ...states.failing, due });
  const finished = await storeDelivery(api.prisma, endpoint, states.exhausted);
  const shown = async () => {
    const { body } = await client.get(`/webhooks/${endpoint.id}/deliveries`).expect(200);
    const { body: one } = await client.get(`/webhooks/${endpoint.id}/deliveries/${id}`).expect(200);
    expect(body.deliveries[1]).toMatchObject({ id, outcome: one.outcome, nextAttemptAtUtc: one.nextAttemptAtUtc });
    expect(body.deliveries[0]).toMatchObject({ id: finished, outcome: "exhausted", nextAttemptAtUtc: null });
    return { outcome: one.outcome, isScheduled: one.nextAttemptAtUtc !== null };
  };
  const setEnabled = (enabled: boolean) =>
    api.prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { enabled } });
  expect(await shown()).toEqual({ outcome: "failing", isScheduled: true });
  await setEnabled(false);
  expect(await shown()).toEqual({ outcome: "parked", isScheduled: false });
  await setEnabled(true);
  expect(await shown()).toEqual({ outcome: "failing", isScheduled: true });
});

test("a delivery of another endpoint is a 404", async () => {
  const { endpoint: other } = await create(client);
  const id = await storeDelivery(api.prisma, endpoint, states.succeeded);
  const { body } = await client.get(`/webhooks/${other.id}/deliveries/${id}`).expect(404);
  expect(body.code).toBe("delivery_not_found");
  await client.get(`/webhooks/${endpoint.id}/deliveries/nothing`).expect(404);
});
