import { randomUUID } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { lockWaiters } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { states, storeDelivery, storeMany } from "../support/deliveries.ts";
import { type Client, create, settings, useApi } from "../support/use-api.ts";

const clock = steeredClock(new Date());
const api = useApi({ clock, settings: { DATABASE_TIMEOUT_SECONDS: "600" } });
let client: Client;
let organizationId: string;

beforeEach(async () => {
  organizationId = api.newOrganization();
  // The clock is moved, so the token lasts.
  client = await api.as({ organizationId, expiresInS: 1_000_000 });
});

const row = (id: string) => api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });
const catchUp = (endpointId: string) => api.prisma.catchUp.findUniqueOrThrow({ where: { endpointId } });
/** The row by which the publisher catches up now, from the beginning, and once more when every present statement has ended. */
const catchUpNow = (endpointId: string) => ({
  endpointId,
  priority: 0,
  dueAt: clock.now(),
  cursor: null,
  againAt: new Date(clock.now().getTime() + (api.config.DATABASE_TIMEOUT_SECONDS + 30) * 1_000),
  completeTo: null,
});
/** As the publisher leaves it when it has caught up, for the daily guard. */
async function caughtUp(endpointId: string): Promise<object> {
  const data = { priority: 1, dueAt: new Date(clock.now().getTime() + 86_400_000), completeTo: clock.now() };
  return await api.prisma.catchUp.update({ where: { endpointId }, data: { ...data, cursor: randomUUID() } });
}

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

test("§3.1/pause edit with enabled false disables the endpoint, and says why and since when", async () => {
  const { endpoint } = await create(client);
  clock.advance(1_000);
  expect(await edit(endpoint.id, { enabled: false })).toMatchObject({ enabled: false });
  expect(await row(endpoint.id)).toMatchObject({ disabledReason: "paused", disabledAt: clock.now() });
});

test("§3.1/pause §3.1/resume neither a pause nor a resume rewrites a delivery, one at five attempts included", async () => {
  const { endpoint } = await create(client);
  const target = { id: endpoint.id, organizationId };
  await storeDelivery(api.prisma, target, states.waiting);
  await storeDelivery(api.prisma, target, states.failing);
  await storeDelivery(api.prisma, target, states.exhausted);
  const stored = async () => [
    await api.prisma.delivery.findMany({ where: { endpointId: endpoint.id } }),
    await api.prisma.due.findMany({ where: { endpointId: endpoint.id } }),
  ];
  const before = await stored();
  expect(before.map(({ length }) => length)).toEqual([3, 2]);
  await edit(endpoint.id, { enabled: false });
  await edit(endpoint.id, { enabled: true });
  expect(await stored()).toEqual(before);
});

test("§3.1/create an endpoint created disabled counts as paused", async () => {
  const { endpoint } = await create(client, { enabled: false });
  expect(endpoint.enabled).toBe(false);
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

test("§3.1/resume edit with enabled true resets consecutive failures to zero", async () => {
  const { endpoint } = await create(client);
  await disableAfterFailures(endpoint.id);
  expect(await edit(endpoint.id, { enabled: true })).toMatchObject({ enabled: true, consecutiveFailures: 0 });
  expect(await row(endpoint.id)).toMatchObject({ failureRun: [], disabledReason: null, disabledAt: null });
});

test("§3.1/resume eligible unfinished deliveries can resume: the publisher has to catch up", async () => {
  const { endpoint } = await create(client);
  const guard = await caughtUp(endpoint.id);
  await edit(endpoint.id, { enabled: false });
  expect(await catchUp(endpoint.id)).toEqual(guard);
  clock.advance(3_600_000);
  await edit(endpoint.id, { enabled: true });
  expect(await catchUp(endpoint.id)).toEqual(catchUpNow(endpoint.id));
});

test("§3.1/resume an edit of an enabled endpoint resets nothing", async () => {
  const { endpoint } = await create(client);
  const failureRun = ["a/1", "a/2", "b/1"];
  const data = { consecutiveFailures: 3, failureRun };
  await api.prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data });
  expect(await edit(endpoint.id, { name: "New" })).toMatchObject({ consecutiveFailures: 3 });
  expect(await row(endpoint.id)).toMatchObject({ failureRun });
});

/** An edit that has to wait for the endpoint's row, which a transaction changes. */
async function editDuring<Edited>(
  id: string,
  data: Parameters<typeof api.prisma.webhookEndpoint.update>[0]["data"],
  begin: () => Promise<Edited>,
): Promise<Edited> {
  const edits: Promise<Edited>[] = [];
  const changing = async (transaction: Pick<typeof api.prisma, "webhookEndpoint">) => {
    await transaction.webhookEndpoint.update({ where: { id }, data });
    edits.push(begin());
    await eventually(async () => expect(await lockWaiters(api.prisma)).toBe(1));
  };
  await api.prisma.$transaction(changing, { timeout: 120_000 });
  return (await Promise.all(edits))[0] as Edited;
}

test("an edit that had to wait for the endpoint's row keeps the failures that were counted meanwhile", async () => {
  const { endpoint } = await create(client, { events: ["ProjectCreated"] });
  const failureRun = ["a/1", "b/1"];
  await caughtUp(endpoint.id);
  const edited = await editDuring(endpoint.id, { consecutiveFailures: 2, failureRun }, () =>
    edit(endpoint.id, { name: "New", events: ["ProjectCreated", "RiskCreated"] }),
  );
  expect(edited).toMatchObject({ name: "New", consecutiveFailures: 2 });
  expect(await row(endpoint.id)).toMatchObject({ name: "New", consecutiveFailures: 2, failureRun });
  expect(await catchUp(endpoint.id)).toEqual(catchUpNow(endpoint.id));
});

test("an edit that waits for a disabling by failures finds another version, and requests no catch-up", async () => {
  const { endpoint } = await create(client);
  const guard = await caughtUp(endpoint.id);
  const disabling = { enabled: false, disabledReason: "failures", revision: { increment: 1 } } as const;
  const changes = settings({ events: ["ProjectCreated", "RiskCreated"], version: endpoint.version });
  const edited = await editDuring(endpoint.id, disabling, () => client.put(`/webhooks/${endpoint.id}`, changes).then());
  expect(edited.status).toBe(409);
  expect(await row(endpoint.id)).toMatchObject({ enabled: false, disabledReason: "failures", revision: 2n });
  expect(await catchUp(endpoint.id)).toEqual(guard);
});

test("§6.4 a new enabled endpoint is caught up", async () => {
  const { endpoint } = await create(client);
  expect(await catchUp(endpoint.id)).toEqual(catchUpNow(endpoint.id));
});

test("§6.4 an endpoint that subscribes to more events is caught up, one that subscribes to fewer isn't", async () => {
  const { endpoint } = await create(client, { events: ["RiskCreated", "ProjectCreated"] });
  const guard = await caughtUp(endpoint.id);
  clock.advance(3_600_000);
  await edit(endpoint.id, { events: ["ProjectCreated"] });
  expect(await catchUp(endpoint.id)).toEqual(guard);
  await edit(endpoint.id, { events: ["ProjectCreated", "RiskCreated"] });
  expect(await catchUp(endpoint.id)).toEqual(catchUpNow(endpoint.id));
});

test("§6.4 a disabled endpoint that subscribes to more events isn't caught up until it is resumed", async () => {
  const { endpoint } = await create(client);
  await edit(endpoint.id, { enabled: false });
  const guard = await caughtUp(endpoint.id);
  clock.advance(3_600_000);
  await edit(endpoint.id, { events: ["ProjectCreated", "RiskCreated"] });
  expect(await catchUp(endpoint.id)).toEqual(guard);
  await edit(endpoint.id, { enabled: true });
  expect(await catchUp(endpoint.id)).toEqual(catchUpNow(endpoint.id));
});

test("§3.1/delete §4.1/delete §4.1.5 a deletion leaves nothing of the endpoint that can be read, and others as they are", async () => {
  const { endpoint } = await create(client);
  const { endpoint: other } = await create(client);
  const deliveryId = await storeDelivery(api.prisma, { id: endpoint.id, organizationId }, states.succeeded);
  const kept = await storeDelivery(api.prisma, { id: other.id, organizationId }, states.waiting);
  const { text } = await client.delete(`/webhooks/${endpoint.id}`, { version: endpoint.version }).expect(204);
  expect(text).toBe("");
  expect(await api.prisma.webhookEndpoint.findUnique({ where: { id: endpoint.id } })).toBeNull();
  expect((await client.get("/webhooks").expect(200)).body).toMatchObject([
    { id: other.id, deliveries: [{ id: kept }] },
  ]);
  expect((await client.get("/webhooks/overview").expect(200)).body).toMatchObject([{ id: other.id }]);
  for (const path of ["/events", "/deliveries"]) {
    const { body } = await client.get(`${path}?deliveryId=${deliveryId}`).expect(200);
    expect(body.events ?? body.deliveries).toEqual([]);
  }
  const paths = ["", "/deliveries", `/deliveries/${deliveryId}`];
  for (const path of paths) await client.get(`/webhooks/${endpoint.id}${path}`).expect(404);
  await client.get(`/webhooks/${other.id}/deliveries/${deliveryId}`).expect(404);
});

test("§3.1/delete nothing brings a deleted endpoint back: no edit, manual delivery, nor another deletion", async () => {
  const { endpoint } = await create(client);
  const path = `/webhooks/${endpoint.id}`;
  await client.delete(path, { version: endpoint.version }).expect(204);
  await client.put(path, settings({ version: endpoint.version })).expect(404);
  await client.post(`${path}/deliver`, { eventType: "WorkItemCompleted", payloadJson: "{}" }).expect(404);
  await client.delete(path, { version: endpoint.version }).expect(404);
  const where = { endpointId: endpoint.id };
  expect(await api.prisma.delivery.count({ where })).toBe(0);
  expect(await api.prisma.due.count({ where })).toBe(0);
  expect(await api.prisma.catchUp.count({ where })).toBe(0);
  expect(await api.prisma.erasure.count({ where })).toBe(1);
});

test("§3.1/delete §4.1.5 an endpoint with a long history is deleted by one statement that touches no delivery", async () => {
  const { endpoint } = await create(client);
  await storeMany(api.prisma, { id: endpoint.id, organizationId }, 1_000);
  await client.delete(`/webhooks/${endpoint.id}`, { version: "AAAAAAAAAAk=" }).expect(409);
  expect(await api.prisma.erasure.count({ where: { endpointId: endpoint.id } })).toBe(0);
  // A deletion that touched the history would wait for this transaction.
  await api.prisma.$transaction(
    async (transaction) => {
      await transaction.$executeRaw`lock table delivery, delivery_attempt, due, business_event in exclusive mode`;
      await client.delete(`/webhooks/${endpoint.id}`, { version: endpoint.version }).expect(204);
    },
    { timeout: 120_000 },
  );
  await client.get("/webhooks").expect(200, []);
  await client.get(`/webhooks/${endpoint.id}/deliveries`).expect(404);
  expect(await api.prisma.delivery.count({ where: { endpointId: endpoint.id } })).toBe(1_000);
  const minutes = (count: number) => new Date(clock.now().getTime() + count * 60_000);
  expect(await api.prisma.erasure.findUnique({ where: { endpointId: endpoint.id } })).toEqual({
    endpointId: endpoint.id,
    dueAt: minutes(0),
    until: minutes(15),
  });
});
