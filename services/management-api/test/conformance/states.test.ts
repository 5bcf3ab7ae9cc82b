import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { states, storeDelivery } from "../support/deliveries.ts";
import { create, settings } from "../support/endpoints.ts";
import { type Client, useApi } from "../support/use-api.ts";

const clock = steeredClock(new Date());
const api = useApi({ clock });
let client: Client;
let organizationId: string;

beforeEach(async () => {
  organizationId = api.newOrganization();
  // The clock is moved, so the token lasts.
  client = await api.as({ organizationId, expiresInS: 1_000_000 });
});

const row = (id: string) => api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });
const minuteLater = () => new Date(clock.now().getTime() + 60_000);

async function edit(id: string, changes: object) {
  const listed = (await client.get("/webhooks")).body.find((endpoint: { id: string }) => endpoint.id === id);
  const { name, url, enabled, events, version } = listed;
  const { body } = await client.put(`/webhooks/${id}`, { name, url, enabled, events, version, ...changes }).expect(200);
  return body.endpoint;
}

/** As the dispatcher leaves an endpoint after five failures. */
async function disableAfterFailures(id: string): Promise<void> {
  await api.prisma.webhookEndpoint.update({
    where: { id },
    data: {
      enabled: false,
      consecutiveFailures: 5,
      failureRun: ["a/1", "a/2", "a/3", "b/1", "b/2"],
      disabledReason: "failures",
      disabledAt: clock.now(),
      revision: { increment: 1 },
    },
  });
}

describe("pausing", () => {
  test("§3.1/pause edit with enabled false disables the endpoint, and says why and since when", async () => {
    const { endpoint } = await create(client);
    clock.advance(1_000);
    expect(await edit(endpoint.id, { enabled: false })).toMatchObject({ enabled: false });
    expect(await row(endpoint.id)).toMatchObject({ disabledReason: "paused", disabledAt: clock.now() });
  });

  test("§3.1/pause pending deliveries are not cleared", async () => {
    const { endpoint } = await create(client);
    const target = { id: endpoint.id, organizationId };
    await storeDelivery(api.prisma, target, states.waiting);
    await storeDelivery(api.prisma, target, states.failing);
    const before = await api.prisma.delivery.findMany({ where: { endpointId: endpoint.id } });
    await edit(endpoint.id, { enabled: false });
    expect(await api.prisma.delivery.findMany({ where: { endpointId: endpoint.id } })).toEqual(before);
  });

  test("§4.1.5 pausing keeps the history", async () => {
    const { endpoint } = await create(client);
    const id = await storeDelivery(api.prisma, { id: endpoint.id, organizationId }, states.succeeded);
    expect((await edit(endpoint.id, { enabled: false })).deliveries).toMatchObject([{ id }]);
  });

  test("§3.1/create an endpoint created disabled counts as paused", async () => {
    const { endpoint } = await create(client, { enabled: false });
    expect(await row(endpoint.id)).toMatchObject({ disabledReason: "paused", disabledAt: clock.now() });
  });

  test("§3.1/pause editing an endpoint that failures disabled keeps that reason", async () => {
    const { endpoint } = await create(client);
    await disableAfterFailures(endpoint.id);
    const disabledAt = clock.now();
    clock.advance(5_000);
    await edit(endpoint.id, { url: "https://repaired.example.com/", enabled: false });
    expect(await row(endpoint.id)).toMatchObject({ disabledReason: "failures", disabledAt, consecutiveFailures: 5 });
  });
});

describe("resuming", () => {
  test("§3.1/resume edit with enabled true resets consecutive failures to zero", async () => {
    const { endpoint } = await create(client);
    await disableAfterFailures(endpoint.id);
    expect(await edit(endpoint.id, { enabled: true })).toMatchObject({ enabled: true, consecutiveFailures: 0 });
    expect(await row(endpoint.id)).toMatchObject({ failureRun: [], disabledReason: null, disabledAt: null });
  });

  test("§3.1/resume eligible unfinished deliveries can resume: the publisher is told at once, and for a minute", async () => {
    const { endpoint } = await create(client);
    await edit(endpoint.id, { enabled: false });
    clock.advance(3_600_000);
    await edit(endpoint.id, { enabled: true });
    expect(await row(endpoint.id)).toMatchObject({ catchUpAt: clock.now(), catchUpUntil: minuteLater() });
  });

  test("§3.1/resume deliveries already at five attempts are not reset", async () => {
    const { endpoint } = await create(client);
    const id = await storeDelivery(api.prisma, { id: endpoint.id, organizationId }, states.exhausted);
    await disableAfterFailures(endpoint.id);
    await edit(endpoint.id, { enabled: true });
    const delivery = await api.prisma.delivery.findUniqueOrThrow({ where: { id } });
    expect(delivery).toMatchObject({ state: "exhausted", attemptCount: 5, nextAttemptAt: null });
  });

  test("§3.1/resume an edit of an enabled endpoint resets nothing", async () => {
    const { endpoint } = await create(client);
    const failureRun = ["a/1", "a/2", "b/1"];
    const data = { consecutiveFailures: 3, failureRun };
    await api.prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data });
    expect(await edit(endpoint.id, { name: "New" })).toMatchObject({ consecutiveFailures: 3 });
    expect(await row(endpoint.id)).toMatchObject({ failureRun });
  });
});

describe("catching up", () => {
  test("§6.4 a new enabled endpoint is caught up", async () => {
    const { endpoint } = await create(client);
    expect(await row(endpoint.id)).toMatchObject({ catchUpAt: clock.now(), catchUpUntil: minuteLater() });
  });

  test("§6.4 an endpoint that subscribes to more events is caught up, one that subscribes to fewer isn't", async () => {
    const { endpoint } = await create(client, { events: ["RiskCreated", "ProjectCreated"] });
    const createdAt = clock.now();
    clock.advance(3_600_000);
    await edit(endpoint.id, { events: ["ProjectCreated"] });
    expect(await row(endpoint.id)).toMatchObject({ catchUpAt: createdAt });
    await edit(endpoint.id, { events: ["ProjectCreated", "RiskCreated"] });
    expect(await row(endpoint.id)).toMatchObject({ catchUpAt: clock.now(), catchUpUntil: minuteLater() });
  });

  test("§6.4 a disabled endpoint that subscribes to more events isn't caught up until it is resumed", async () => {
    const { endpoint } = await create(client);
    await edit(endpoint.id, { enabled: false });
    const { catchUpUntil } = await row(endpoint.id);
    clock.advance(3_600_000);
    await edit(endpoint.id, { events: ["ProjectCreated", "RiskCreated"] });
    expect((await row(endpoint.id)).catchUpUntil).toEqual(catchUpUntil);
  });
});

describe("deleting", () => {
  test("§3.1/delete §4.1/delete §4.1.5 a deletion erases the endpoint, its deliveries and their attempts", async () => {
    const { endpoint } = await create(client);
    const { endpoint: other } = await create(client);
    const deliveryId = await storeDelivery(api.prisma, { id: endpoint.id, organizationId }, states.succeeded);
    const kept = await storeDelivery(api.prisma, { id: other.id, organizationId }, states.waiting);
    const attempt = { deliveryId, number: 1, startedAt: clock.now(), durationMs: 3, statusCode: 204 };
    await api.prisma.deliveryAttempt.create({ data: attempt });
    const { text } = await client.delete(`/webhooks/${endpoint.id}`, { version: endpoint.version }).expect(204);
    expect(text).toBe("");
    expect(await api.prisma.webhookEndpoint.findUnique({ where: { id: endpoint.id } })).toBeNull();
    expect(await api.prisma.deliveryAttempt.count({ where: { deliveryId } })).toBe(0);
    const left = await api.prisma.delivery.findMany({ where: { organizationId }, select: { id: true } });
    expect(left).toEqual([{ id: kept }]);
    await client.delete(`/webhooks/${endpoint.id}`, { version: endpoint.version }).expect(404);
  });

  test("§3.1/delete a disabled endpoint can be deleted too", async () => {
    const { endpoint } = await create(client, { enabled: false });
    await client.delete(`/webhooks/${endpoint.id}`, { version: endpoint.version }).expect(204);
  });

  test("§3.1/delete §4.1.5 a deletion erases a history longer than one step, all of it", async () => {
    const { endpoint } = await create(client);
    await api.prisma.$executeRaw`
      insert into delivery (endpoint_id, organization_id, event_type, body, state, created_at)
      select ${endpoint.id}::uuid, ${organizationId}, 'RiskCreated', '{}', 'succeeded', now()
      from generate_series(1, 25000)`;
    await client.delete(`/webhooks/${endpoint.id}`, { version: "AAAAAAAAAAk=" }).expect(409);
    expect(await api.prisma.delivery.count({ where: { endpointId: endpoint.id } })).toBe(25_000);
    await client.delete(`/webhooks/${endpoint.id}`, { version: endpoint.version }).expect(204);
    expect(await api.prisma.delivery.count({ where: { endpointId: endpoint.id } })).toBe(0);
    await client.get("/webhooks").expect(200, []);
  });

  test("§4.1/delete a deletion needs no body field but the version", async () => {
    const { endpoint } = await create(client);
    const { body } = await client.delete(`/webhooks/${endpoint.id}`, {}).expect(400);
    expect(body.errors).toMatchObject([{ pointer: "/version", code: "missing" }]);
    await client.delete(`/webhooks/${endpoint.id}`, settings({ version: endpoint.version })).expect(204);
  });
});
