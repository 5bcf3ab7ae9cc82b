import type { EndpointOverview } from "@herald/contracts";
import { insertEvent } from "@herald/dev/harness/rows";
import { middleOfHour, steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { states, storeDelivery, storeFirstAttempt, storeMany } from "./support/deliveries.ts";
import { type Client, create, settings, useApi } from "./support/use-api.ts";

const HOUR_MS = 3_600_000;
const clock = steeredClock(middleOfHour());
const api = useApi({ clock });
let client: Client;
let organizationId: string;
let endpoint: { id: string; organizationId: string };
let version: string;

beforeEach(async () => {
  organizationId = api.newOrganization();
  client = await api.as({ organizationId, expiresInS: 100_000 });
  const created = await create(client);
  endpoint = { id: created.endpoint.id, organizationId };
  version = created.endpoint.version;
});

const hoursAgo = (hours: number) => new Date(clock.now().getTime() - hours * HOUR_MS);
const overview = async () => (await client.get("/webhooks/overview").expect(200)).body;
const details = async () => (await client.get(`/webhooks/${endpoint.id}`).expect(200)).body;
/** A field of the endpoint, of which its details say the same as the overview. */
async function shown<Field extends keyof EndpointOverview>(field: Field): Promise<EndpointOverview[Field]> {
  const [row] = await overview();
  expect((await details())[field]).toEqual(row[field]);
  return row[field];
}

test("the overview lists endpoints in the order of their names, whatever the case", async () => {
  for (const name of ["zeta", "Alpha", "beta"]) await create(client, { name });
  const body = await overview();
  expect(body.map(({ name }: { name: string }) => name)).toEqual(["Alpha", "beta", "Billing", "zeta"]);
});

test("the overview counts the deliveries of the last 24 hours by the hour of their event and by their outcome", async () => {
  await storeDelivery(api.prisma, endpoint, { ...states.succeeded, createdAt: hoursAgo(0) });
  await storeDelivery(api.prisma, endpoint, { ...states.waiting, createdAt: hoursAgo(0) });
  await storeDelivery(api.prisma, endpoint, { ...states.failing, createdAt: hoursAgo(3) });
  await storeDelivery(api.prisma, endpoint, { ...states.failing, createdAt: hoursAgo(3) });
  await storeDelivery(api.prisma, endpoint, { ...states.succeeded, attemptCount: 2, createdAt: hoursAgo(5) });
  await storeDelivery(api.prisma, endpoint, { ...states.exhausted, createdAt: hoursAgo(23) });
  await storeDelivery(api.prisma, endpoint, { ...states.succeeded, createdAt: hoursAgo(24) });
  const [{ last24Hours }] = await overview();
  const none = {
    succeeded: 0,
    retriedSucceeded: 0,
    waiting: 0,
    failing: 0,
    parked: 0,
    parkedFailing: 0,
    exhausted: 0,
  };
  expect(last24Hours[0]).toMatchObject({ ...none, exhausted: 1 });
  expect(last24Hours[18]).toMatchObject({ ...none, succeeded: 1, retriedSucceeded: 1 });
  expect(last24Hours[20]).toMatchObject({ ...none, failing: 2 });
  expect(last24Hours[23]).toMatchObject({ ...none, succeeded: 1, waiting: 1 });
  expect(Date.parse(last24Hours[23].startUtc)).toBe(clock.now().getTime() - HOUR_MS / 2);
  const total = last24Hours.flatMap((hour: object) => Object.values(hour).filter(Number.isInteger));
  expect(total.reduce((sum: number, count: number) => sum + count)).toBe(7);
  await client.put(`/webhooks/${endpoint.id}`, settings({ enabled: false, version })).expect(200);
  const [paused] = await overview();
  expect(paused.last24Hours[20]).toMatchObject({ ...none, parked: 2, parkedFailing: 2 });
  expect(paused.last24Hours[23]).toMatchObject({ ...none, succeeded: 1, parked: 1 });
});

test("if more happened than is counted, the overview says since when it counts", async () => {
  const midnight = clock.now().getTime() - 23.5 * HOUR_MS;
  const seen = async () => Date.parse(await shown("countedSinceUtc"));
  await storeDelivery(api.prisma, endpoint, { ...states.succeeded, createdAt: hoursAgo(20) });
  expect(await seen()).toBe(midnight);
  await storeMany(api.prisma, endpoint, 2_000);
  expect(await seen()).toBeGreaterThan(hoursAgo(2).getTime());
});

test("regression: the last delivery is the one that was attempted last, and not the one that was made last", async () => {
  const minutesAgo = (minutes: number) => new Date(clock.now().getTime() - minutes * 60_000);
  // An old delivery, whose retry failed after a newer one had succeeded.
  const old = await storeDelivery(api.prisma, endpoint, {
    ...states.failing,
    createdAt: hoursAgo(30),
    attemptedAt: minutesAgo(50),
  });
  const retried = await storeDelivery(api.prisma, endpoint, {
    ...states.exhausted,
    createdAt: minutesAgo(30),
    attemptedAt: minutesAgo(1),
  });
  await storeDelivery(api.prisma, endpoint, {
    ...states.succeeded,
    createdAt: minutesAgo(10),
    attemptedAt: minutesAgo(9),
  });
  await storeDelivery(api.prisma, endpoint, states.waiting);
  expect(await shown("lastDelivery")).toMatchObject({
    id: retried,
    succeeded: false,
    attemptedAtUtc: minutesAgo(1).toISOString(),
  });
  // Beyond the hours that the overview counts, the run of failures says which it was.
  const { id } = endpoint;
  await api.prisma.delivery.update({ where: { id: old }, data: { attemptedAt: minutesAgo(0.5), attemptCount: 3 } });
  await api.prisma.webhookEndpoint.update({ where: { id }, data: { failureRun: [`${retried}/5`, `${old}/3`] } });
  expect(await shown("lastDelivery")).toMatchObject({ id: old, attemptCount: 3 });
});

// Each endpoint was shown the newest delivery of the first one that was read.
test("regression: each of several endpoints has its own last delivery, and one without deliveries has none", async () => {
  const own = new Map<string, string | null>();
  for (let index = 0; index < 8; index++) {
    const { id } = (await create(client, { name: `receiver ${index}` })).endpoint;
    // Deliveries of the last hours or days; the first ones are the latest, and some endpoints have none.
    const attemptedAt = hoursAgo(1 + 5 * index);
    const row = { ...states.succeeded, attemptedAt, createdAt: attemptedAt };
    own.set(id, index % 4 === 3 ? null : await storeDelivery(api.prisma, { id, organizationId }, row));
  }
  own.set(endpoint.id, await storeDelivery(api.prisma, endpoint, { ...states.succeeded, attemptedAt: hoursAgo(0) }));
  const body = await overview();
  const shown = body.map(({ id, lastDelivery }: EndpointOverview) => [id, lastDelivery?.id ?? null]);
  expect(new Map(shown)).toEqual(own);
});

test("the last delivery is the newest while none has been attempted", async () => {
  await storeDelivery(api.prisma, endpoint, states.waiting);
  const newest = await storeDelivery(api.prisma, endpoint, states.waiting);
  const [{ lastDelivery }] = await overview();
  expect(lastDelivery).toMatchObject({ id: newest, attemptCount: 0 });
});

test("one endpoint's details show what is unfinished, and the last delivery", async () => {
  await storeDelivery(api.prisma, endpoint, states.waiting);
  await storeDelivery(api.prisma, endpoint, states.failing);
  const id = await storeDelivery(api.prisma, endpoint, states.exhausted);
  expect(await details()).toMatchObject({
    unfinished: { waiting: 1, failing: 1, parked: 0 },
    lastDelivery: { id, statusCode: 410 },
  });
  await client.put(`/webhooks/${endpoint.id}`, settings({ enabled: false, version })).expect(200);
  expect(await details()).toMatchObject({
    unfinished: { waiting: 0, failing: 0, parked: 2 },
    onResume: { parked: 2 },
  });
});

describe("a failing endpoint", () => {
  const pausedUntil = new Date(clock.now().getTime() + 4_000);
  const store = (dueAt: Date) => storeDelivery(api.prisma, endpoint, { ...states.failing, due: { dueAt } });
  const fails = (data: object = {}) =>
    api.prisma.webhookEndpoint.update({
      where: { id: endpoint.id },
      data: { consecutiveFailures: 3, failedAt: clock.now(), pausedUntil, ...data },
    });

  test("a failing endpoint says when it is tried again: when its pause is over and a delivery is due", async () => {
    await store(hoursAgo(1));
    expect(await shown("nextTryAtUtc")).toBe(null);
    await fails();
    expect(await shown("nextTryAtUtc")).toBe(pausedUntil.toISOString());
    await fails({ pausedUntil: hoursAgo(2) });
    expect(await shown("nextTryAtUtc")).toBe(hoursAgo(1).toISOString());
  });

  test("a retry that is due after the pause is the next try, and if nothing waits there is none", async () => {
    const retryAt = new Date(clock.now().getTime() + 60_000);
    await fails();
    expect(await shown("nextTryAtUtc")).toBe(null);
    await store(retryAt);
    expect(await shown("nextTryAtUtc")).toBe(retryAt.toISOString());
    await fails({ enabled: false, disabledReason: "failures", disabledAt: clock.now() });
    expect(await shown("nextTryAtUtc")).toBe(null);
  });
});

describe("Herald's own network", () => {
  const dispatcher = (aliveForSeconds: number, outageSince: Date | null) =>
    api.prisma.$executeRaw`
      insert into process (id, service, alive_until, outage_since)
      values (gen_random_uuid(), 'dispatcher', now() + ${aliveForSeconds} * interval '1 second', ${outageSince}::timestamptz)`;

  test("an endpoint's state says since when a dispatcher has an outage, unless that dispatcher is gone", async () => {
    const since = new Date("2026-05-01T12:00:00.000Z");
    await dispatcher(3_600, null);
    expect(await shown("outageSinceUtc")).toBe(null);
    await dispatcher(-1, hoursAgo(9));
    expect(await shown("outageSinceUtc")).toBe(null);
    await dispatcher(3_600, since);
    await dispatcher(3_600, hoursAgo(-1));
    expect(await shown("outageSinceUtc")).toBe(since.toISOString());
    await api.prisma.process.deleteMany();
  });
});

test("an endpoint's state says since when its secret can't be opened, until it is replaced", async () => {
  const quarantinedAt = new Date("2026-05-01T12:00:00.000Z");
  await api.prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { quarantinedAt } });
  for (const rotateSecret of [false, true]) {
    expect(await shown("quarantinedAtUtc")).toBe(quarantinedAt.toISOString());
    const edit = settings({ version: (await details()).version, rotateSecret });
    await client.put(`/webhooks/${endpoint.id}`, edit).expect(200);
  }
  expect(await shown("quarantinedAtUtc")).toBe(null);
});

test("an endpoint's state says since when an operator lets no attempt begin", async () => {
  const begunAt = new Date("2026-05-01T12:00:00.000Z");
  expect(await shown("stoppedSinceUtc")).toBe(null);
  await api.prisma.shard.updateMany({ data: { stoppedAt: begunAt } });
  expect(await shown("stoppedSinceUtc")).toBe(begunAt.toISOString());
  await api.prisma.shard.updateMany({ data: { stoppedAt: null } });
});

test("a disabled endpoint's details show the failed attempts that disabled it, in their order", async () => {
  const [first, second] = [
    await storeDelivery(api.prisma, endpoint, states.failing),
    await storeDelivery(api.prisma, endpoint, states.failing),
  ];
  // The latest attempts are in the deliveries' rows, the first one's earlier one has a row of its own.
  await storeFirstAttempt(api.prisma, first, clock.now());
  const latest = { statusCode: 500, failureKind: "http_status", responseExcerpt: "sorry" };
  await api.prisma.delivery.update({ where: { id: first }, data: { ...latest, attemptCount: 2, durationMs: 42 } });
  await api.prisma.delivery.update({ where: { id: second }, data: { ...latest, attemptCount: 1, durationMs: 41 } });
  await api.prisma.webhookEndpoint.update({
    where: { id: endpoint.id },
    data: {
      enabled: false,
      disabledReason: "failures",
      disabledAt: clock.now(),
      consecutiveFailures: 3,
      failureRun: [`${second}/1`, `${first}/1`, `${first}/2`],
    },
  });
  const { body } = await client.get(`/webhooks/${endpoint.id}`).expect(200);
  expect(body).toMatchObject({ disabledReason: "failures", disabledAtUtc: clock.now().toISOString() });
  expect(body.failureRun).toMatchObject([
    {
      deliveryId: second,
      attemptNumber: 1,
      statusCode: 500,
      failureKind: "http_status",
      durationMs: 41,
      responseExcerpt: "sorry",
    },
    { deliveryId: first, attemptNumber: 1 },
    { deliveryId: first, attemptNumber: 2, durationMs: 42 },
  ]);
});

test("a disabled endpoint's details show what enabling it would send: parked deliveries, and events that it missed", async () => {
  await client.put(`/webhooks/${endpoint.id}`, settings({ enabled: false, version })).expect(200);
  await storeDelivery(api.prisma, endpoint, states.failing);
  const missed = { occurredAt: clock.now() };
  await insertEvent(api.prisma, organizationId, missed);
  await insertEvent(api.prisma, organizationId, missed);
  await insertEvent(api.prisma, organizationId, { ...missed, type: "RiskCreated" });
  await insertEvent(api.prisma, organizationId, { occurredAt: hoursAgo(1) });
  await insertEvent(api.prisma, api.newOrganization(), missed);
  const { body } = await client.get(`/webhooks/${endpoint.id}`).expect(200);
  expect(body.onResume).toEqual({ parked: 1, missedEvents: 2, missedEventsIsMinimum: false });
});

test("an endpoint's rates say how its attempts fared over 1, 7 and 30 days, and another one's count for nothing", async () => {
  const read = async () => (await client.get(`/webhooks/${endpoint.id}/rates`).expect(200)).body;
  const unknown = { attempts: 0, succeeded: 0, p50Ms: null, p95Ms: null };
  expect((await read()).periods).toEqual([1, 7, 30].map((days) => ({ days, ...unknown })));
  const hour = (ago: number) => new Date((Math.floor(clock.now().getTime() / HOUR_MS) - ago) * HOUR_MS);
  const fast = [10, 0, 0, 0, 0, 0, 0, 0];
  const slow = [0, 0, 0, 0, 0, 0, 10, 0];
  const other = await create(client, { name: "other" });
  await api.prisma.endpointHour.createMany({
    data: [
      { endpointId: endpoint.id, hour: hour(0), succeeded: 9, failed: 1, durations: fast },
      { endpointId: endpoint.id, hour: hour(23), succeeded: 10, failed: 0, durations: fast },
      { endpointId: endpoint.id, hour: hour(24), succeeded: 0, failed: 10, durations: slow },
      { endpointId: endpoint.id, hour: hour(30 * 24 - 1), succeeded: 10, failed: 0, durations: slow },
      { endpointId: endpoint.id, hour: hour(30 * 24), succeeded: 10, failed: 0, durations: slow },
      { endpointId: other.endpoint.id, hour: hour(0), succeeded: 10, failed: 0, durations: slow },
    ],
  });
  const { endUtc, periods, hours, days } = await read();
  expect(endUtc).toBe(hour(-1).toISOString());
  expect(periods).toEqual([
    { days: 1, attempts: 20, succeeded: 19, p50Ms: 25, p95Ms: 48 },
    { days: 7, attempts: 30, succeeded: 19, p50Ms: 38, p95Ms: 4_625 },
    { days: 30, attempts: 40, succeeded: 29, p50Ms: 50, p95Ms: 4_750 },
  ]);
  expect(hours).toHaveLength(24);
  expect(hours[0]).toEqual({ succeeded: 10, failed: 0 });
  expect(hours[23]).toEqual({ succeeded: 9, failed: 1 });
  expect(days).toHaveLength(30);
  expect(days[0]).toEqual({ succeeded: 10, failed: 0 });
  expect(days[28]).toEqual({ succeeded: 0, failed: 10 });
  expect(days[29]).toEqual({ succeeded: 19, failed: 1 });
});

test("a check answers with the errors that saving would give, and saves nothing", async () => {
  const { body } = await client.post("/webhooks/checks", { url: "http://10.0.0.1", name: "" }).expect(200);
  expect(body.errors).toMatchObject([{ pointer: "/name" }, { pointer: "/url", code: "url_not_https" }]);
  const saved = await client.post("/webhooks", settings({ url: "http://10.0.0.1", name: "" })).expect(400);
  expect(saved.body.errors).toEqual(body.errors);
  expect((await client.post("/webhooks/checks", { events: ["RiskCreated"] }).expect(200)).body).toEqual({
    errors: [],
  });
  expect((await client.get("/webhooks")).body).toHaveLength(1);
});

describe("the session", () => {
  const session = async (options: object) => (await (await api.as(options)).get("/session").expect(200)).body;

  test("the session says who calls, what they may do, and the limits", async () => {
    expect(await session({ organizationId: "mine", subject: "ada", name: "Ada Lovelace" })).toMatchObject({
      subject: "ada",
      name: "Ada Lovelace",
      organizationId: "mine",
      mayView: true,
      mayManage: true,
      mayDelete: true,
      missing: [],
      limits: {
        nameCharacters: 200,
        urlCharacters: 2_048,
        payloadBytes: 262_144,
        endpoints: 100,
        maxAttempts: 5,
        disableAfterFailures: 5,
        attemptTimeoutMs: 15_000,
        retentionDays: 30,
      },
      headerPrefix: "X-Service",
    });
  });

  test("the session names what the caller lacks in the words of the 403", async () => {
    expect(await session({ entitlements: [] })).toMatchObject({
      name: null,
      mayView: true,
      mayManage: false,
      mayDelete: true,
      missing: ["entitlement integrations"],
    });
    expect(await session({ organizationId: null, permissions: [] })).toMatchObject({
      organizationId: null,
      mayView: false,
      missing: ["organization", "permission integrations.view", "permission integrations.manage"],
    });
  });
});
