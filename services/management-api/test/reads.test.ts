import { insertEvent } from "@herald/testkit/harness/rows";
import { steeredClock } from "@herald/testkit/harness/steered-clock";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { states, storeDelivery } from "./support/deliveries.ts";
import { create, settings } from "./support/endpoints.ts";
import { type Client, useApi } from "./support/use-api.ts";

const HOUR_MS = 3_600_000;
/** In the middle of an hour, so that nothing here straddles two. */
const clock = steeredClock(new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2));
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

describe("how endpoints fare", () => {
  test("one that is new: nothing yet", async () => {
    const { body } = await client.get("/webhooks/overview").expect(200);
    expect(body).toMatchObject([
      {
        id: endpoint.id,
        disabledReason: null,
        disabledAtUtc: null,
        createdAtUtc: clock.now().toISOString(),
        unfinished: { pending: 0, parked: 0 },
        lastDelivery: null,
      },
    ]);
    expect(body[0].last24Hours).toHaveLength(24);
    expect(body[0]).not.toHaveProperty("deliveries");
  });

  test("endpoints are in the order of their names, whatever the case", async () => {
    for (const name of ["zeta", "Alpha", "beta"]) await create(client, { name });
    const { body } = await client.get("/webhooks/overview").expect(200);
    expect(body.map(({ name }: { name: string }) => name)).toEqual(["Alpha", "beta", "Billing", "zeta"]);
  });

  test("the last 24 hours: deliveries by the hour of their making and what became of them", async () => {
    await storeDelivery(api.prisma, endpoint, { ...states.succeeded, createdAt: hoursAgo(0) });
    await storeDelivery(api.prisma, endpoint, { ...states.waiting, createdAt: hoursAgo(0) });
    await storeDelivery(api.prisma, endpoint, { ...states.failing, createdAt: hoursAgo(3) });
    await storeDelivery(api.prisma, endpoint, { ...states.parked, createdAt: hoursAgo(3) });
    await storeDelivery(api.prisma, endpoint, { ...states.exhausted, createdAt: hoursAgo(23) });
    await storeDelivery(api.prisma, endpoint, { ...states.succeeded, createdAt: hoursAgo(24) });
    const { body } = await client.get("/webhooks/overview").expect(200);
    const [{ last24Hours }] = body;
    const none = { succeeded: 0, waiting: 0, failing: 0, exhausted: 0 };
    expect(last24Hours[0]).toMatchObject({ ...none, exhausted: 1 });
    expect(last24Hours[20]).toMatchObject({ ...none, failing: 2 });
    expect(last24Hours[23]).toMatchObject({ ...none, succeeded: 1, waiting: 1 });
    expect(Date.parse(last24Hours[23].startUtc)).toBe(clock.now().getTime() - HOUR_MS / 2);
    const total = last24Hours.flatMap((hour: object) => Object.values(hour).filter(Number.isInteger));
    expect(total.reduce((sum: number, count: number) => sum + count)).toBe(5);
  });

  test("what is unfinished, and the newest delivery", async () => {
    await storeDelivery(api.prisma, endpoint, states.waiting);
    await storeDelivery(api.prisma, endpoint, states.failing);
    await storeDelivery(api.prisma, endpoint, states.parked);
    const id = await storeDelivery(api.prisma, endpoint, states.exhausted);
    const { body } = await client.get(`/webhooks/${endpoint.id}`).expect(200);
    expect(body).toMatchObject({ unfinished: { pending: 2, parked: 1 }, lastDelivery: { id, statusCode: 410 } });
  });
});

describe("one endpoint", () => {
  test("why it is disabled: the attempts that did it, in their order", async () => {
    const [first, second] = [
      await storeDelivery(api.prisma, endpoint, states.failing),
      await storeDelivery(api.prisma, endpoint, states.failing),
    ];
    for (const [id, number] of [
      [first, 1],
      [second, 1],
      [first, 2],
    ] as const)
      await attempt(id, number);
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
      { deliveryId: second, attemptNumber: 1, statusCode: 500, durationMs: 41, responseExcerpt: "sorry" },
      { deliveryId: first, attemptNumber: 1 },
      { deliveryId: first, attemptNumber: 2, durationMs: 42 },
    ]);
  });

  test("what enabling it would send: what is parked, and what it missed", async () => {
    await client.put(`/webhooks/${endpoint.id}`, settings({ enabled: false, version })).expect(200);
    await storeDelivery(api.prisma, endpoint, states.parked);
    const missed = { occurredAt: clock.now() };
    await insertEvent(api.prisma, organizationId, missed);
    await insertEvent(api.prisma, organizationId, missed);
    await insertEvent(api.prisma, organizationId, { ...missed, type: "RiskCreated" });
    await insertEvent(api.prisma, organizationId, { occurredAt: hoursAgo(1) });
    await insertEvent(api.prisma, api.newOrganization(), missed);
    const { body } = await client.get(`/webhooks/${endpoint.id}`).expect(200);
    expect(body.onResume).toEqual({ parked: 1, missedEvents: 2, missedEventsIsMinimum: false });
  });
});

describe("the history", () => {
  const path = () => `/webhooks/${endpoint.id}/deliveries`;

  test("newest first, in parts, each delivery once", async () => {
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
      // What is new doesn't move what comes behind.
      await storeDelivery(api.prisma, endpoint, states.waiting);
    } while (cursor !== null);
    expect(seen).toEqual(ids);
  });

  test("filters by outcome, event and time, each repeatable where that makes sense", async () => {
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
  ])("%s is a 400 that names the parameter", async (query, pointer) => {
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
  test("the body as sent, the attempts, and the headers that receivers got", async () => {
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

  test("an automatic one has its event's body", async () => {
    const id = await storeDelivery(api.prisma, endpoint, states.succeeded);
    const { body } = await client.get(`/webhooks/${endpoint.id}/deliveries/${id}`).expect(200);
    expect(JSON.parse(body.body)).toEqual({ id: body.businessEventId });
  });

  test("of another endpoint is a 404", async () => {
    const { endpoint: other } = await create(client);
    const id = await storeDelivery(api.prisma, endpoint, states.succeeded);
    const { body } = await client.get(`/webhooks/${other.id}/deliveries/${id}`).expect(404);
    expect(body.code).toBe("delivery_not_found");
    await client.get(`/webhooks/${endpoint.id}/deliveries/nothing`).expect(404);
  });
});

describe("checks", () => {
  test("answer with what saving would complain about, and save nothing", async () => {
    const { body } = await client.post("/webhooks/checks", { url: "http://10.0.0.1", name: "" }).expect(200);
    expect(body.errors).toMatchObject([{ pointer: "/name" }, { pointer: "/url", code: "url_not_https" }]);
    const saved = await client.post("/webhooks", settings({ url: "http://10.0.0.1", name: "" })).expect(400);
    expect(saved.body.errors).toEqual(body.errors);
    expect((await client.post("/webhooks/checks", { events: ["RiskCreated"] }).expect(200)).body).toEqual({
      errors: [],
    });
    expect((await client.get("/webhooks")).body).toHaveLength(1);
  });

  test("need a body that is an object", async () => {
    await client.post("/webhooks/checks").type("json").send("[]").expect(400);
  });
});

describe("the session", () => {
  const session = async (options: object) => (await (await api.as(options)).get("/session").expect(200)).body;

  test("says who calls, what they may do, and the limits", async () => {
    expect(await session({ organizationId: "mine", subject: "ada" })).toMatchObject({
      subject: "ada",
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

  test("names what is missing in the words of the 403", async () => {
    expect(await session({ entitlements: [] })).toMatchObject({
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

describe("the events", () => {
  test("§6/names all seven, each with a sample that can be delivered by hand", async () => {
    const { body } = await client.get("/event-types").expect(200);
    expect(body).toHaveLength(7);
    for (const { name, sample } of body) {
      const payload = JSON.parse(sample);
      expect(Object.keys(payload)).toEqual(["id", "type", "occurredAtUtc", "entityType", "entityId", "data"]);
      expect(payload.type).toBe(name);
    }
    const remarked = body.filter(({ remark }: { remark: string | null }) => remark !== null);
    expect(remarked).toMatchObject([{ name: "ProjectUpdated" }]);
  });
});
