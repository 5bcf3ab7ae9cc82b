import { deliveryId } from "@herald/common/database/ids";
import type { Resend, ResendPage } from "@herald/contracts";
import { insertDelivery, insertResend } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, expect, test } from "@jest/globals";
import { states, storeDelivery } from "./support/deliveries.ts";
import { type Client, create, partsOf, settings, useApi } from "./support/use-api.ts";

const HOUR_MS = 3_600_000;
const clock = steeredClock(new Date());
const api = useApi({ clock });
let organizationId: string;
let ana: Client;
let id: string;
let endpoint: { id: string; organizationId: string; version: string };

beforeEach(async () => {
  clock.advance(1_000);
  organizationId = api.newOrganization();
  ana = await api.as({ organizationId, name: "Ana", expiresInS: 100_000 });
  const created = await create(ana, { events: ["WorkItemCompleted", "RiskCreated"] });
  id = created.endpoint.id;
  endpoint = { id, organizationId, version: created.endpoint.version };
});

const hoursAgo = (hours: number) => new Date(clock.now().getTime() - hours * HOUR_MS);
const giveUp = (hours: number, row: Parameters<typeof storeDelivery>[2] = {}) =>
  storeDelivery(api.prisma, endpoint, { ...states.exhausted, body: "12345678", createdAt: hoursAgo(hours), ...row });
const preview = async (query = "") => (await ana.get(`/webhooks/${id}/resends/preview${query}`).expect(200)).body;
const start = (body: object = {}) => ana.post(`/webhooks/${id}/resends`, body);
const read = async (resendId: string) =>
  (await ana.get(`/webhooks/${id}/resends/${resendId}`).expect(200)).body as Resend;
const stop = (resendId: string) => ana.post(`/webhooks/${id}/resends/${resendId}/stop`);
const count = () => api.prisma.resend.count({ where: { endpointId: id } });

/** As the publisher makes a resend's delivery. */
const makeDelivery = (resendId: string, old: string, row: object) =>
  insertDelivery(api.prisma, endpoint, {
    ...row,
    id: deliveryId(resendId, old),
    resendOf: old,
    createdAt: clock.now(),
  });

test("the preview says how many deliveries were given up, from when to when, and how many bytes", async () => {
  await giveUp(5);
  // That of an event is as long as the event's body.
  const ofEvent = await storeDelivery(api.prisma, endpoint, { ...states.exhausted, createdAt: hoursAgo(3) });
  for (const row of [states.succeeded, states.failing, states.waiting]) await giveUp(2, row);
  await giveUp(4, { ...states.waiting, state: "expired" });
  const event = await api.prisma.businessEvent.findFirstOrThrow({ where: { organizationId } });
  const made = await api.prisma.delivery.findUniqueOrThrow({ where: { id: ofEvent } });
  const { oldestAtUtc, newestAtUtc, ...rest } = await preview();
  expect(rest).toEqual({ deliveries: 3, bytes: 8 + 8 + Buffer.byteLength(event.body), lookedBackToUtc: null });
  expect(newestAtUtc).toBe(made.createdAt.toISOString());
  expect(Date.parse(newestAtUtc) - Date.parse(oldestAtUtc)).toBeGreaterThan(HOUR_MS);
});

test("the preview has the filter of the history, and leaves out events that the endpoint doesn't take", async () => {
  await giveUp(5);
  await giveUp(3, { eventType: "RiskCreated" });
  await giveUp(1, { statusCode: 503 });
  await giveUp(1, { eventType: "ProjectCreated" });
  const counted = async (query: string) => (await preview(query)).deliveries;
  expect(await counted("")).toBe(3);
  expect(await counted("?eventType=RiskCreated")).toBe(1);
  expect(await counted("?eventType=RiskCreated&eventType=WorkItemCompleted")).toBe(3);
  expect(await counted("?statusCode=503")).toBe(1);
  expect(await counted(`?from=${hoursAgo(4).toISOString()}`)).toBe(2);
  expect(await counted(`?to=${hoursAgo(4).toISOString()}`)).toBe(1);
  await ana.get(`/webhooks/${id}/resends/preview?outcome=exhausted`).expect(400);
  await ana.get(`/webhooks/${id}/resends/preview?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z`).expect(400);
});

test("what has been sent again counts no more, until the new delivery was given up as well", async () => {
  const [first, second] = [await giveUp(5), await giveUp(3)];
  const { id: resendId } = await insertResend(api.prisma, endpoint, {
    startedAt: clock.now(),
    state: "finished",
    cursorId: second,
  });
  await makeDelivery(resendId, first, states.succeeded);
  const again = await makeDelivery(resendId, second, states.waiting);
  expect((await preview()).deliveries).toBe(0);
  await api.prisma.delivery.update({ where: { id: again.id }, data: states.exhausted });
  expect((await preview()).deliveries).toBe(1);
});

test("a receiver that got everything leaves nothing to send again", async () => {
  expect(await preview()).toEqual({
    deliveries: 0,
    bytes: 0,
    oldestAtUtc: null,
    newestAtUtc: null,
    lookedBackToUtc: null,
  });
  const { body } = await start().expect(409);
  expect(body.code).toBe("nothing_to_resend");
});

test("a resend is due at once, for what the preview counted, and the trail has one entry with who and how many", async () => {
  const oldest = await giveUp(5);
  const newest = await giveUp(3);
  await giveUp(1, { eventType: "RiskCreated" });
  const { body } = await start({ eventType: ["WorkItemCompleted"] }).expect(200);
  expect(body).toMatchObject({
    state: "running",
    stopReason: null,
    startedAtUtc: clock.now().toISOString(),
    startedBy: "Ana",
    endedAtUtc: null,
    filter: { eventType: ["WorkItemCompleted"], statusCode: [], from: null, to: null },
    total: 2,
    bytes: 16,
    sent: 0,
    succeeded: 0,
    failed: 0,
    unfinished: 0,
  });
  const row = await api.prisma.resend.findUniqueOrThrow({ where: { id: body.id } });
  expect(row).toMatchObject({ beginId: oldest, endId: newest, cursorId: null, dueAt: clock.now() });

  const { body: trail } = await ana.get(`/webhooks/${id}/changes`).expect(200);
  expect(trail.changes).toMatchObject([
    { kind: "resent", changedBy: "admin", name: "Ana", before: {}, after: {}, resent: 2, version: endpoint.version },
    { kind: "created", resent: null },
  ]);
  expect((await ana.get(`/webhooks/${id}`).expect(200)).body.version).toBe(endpoint.version);
});

test("a second resend of the endpoint is a 409 while one runs, even if both come at once", async () => {
  await giveUp(1);
  const answers = await Promise.all([start(), start(), start()]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  expect(answers.find(({ status }) => status === 409)?.body.code).toBe("resend_running");
  expect(await count()).toBe(1);
  await stop(answers.find(({ status }) => status === 200)?.body.id).expect(200);
  await start().expect(200);
});

test("an endpoint that is disabled takes no resend", async () => {
  await giveUp(1);
  await ana.put(`/webhooks/${id}`, settings({ enabled: false, version: endpoint.version })).expect(200);
  expect((await start().expect(400)).body.code).toBe("endpoint_disabled");
  expect(await count()).toBe(0);
});

test.each<[string, object, string]>([
  ["an event that doesn't exist", { eventType: ["Nothing"] }, "/eventType/0"],
  ["a status that is none", { statusCode: [7] }, "/statusCode/0"],
  ["a time that is none", { from: "yesterday" }, "/from"],
  ["an end before the beginning", { from: "2026-02-01T00:00:00Z", to: "2026-01-01T00:00:00Z" }, "/from"],
])("a filter with %s is refused", async (_what, filter, pointer) => {
  const { body } = await start(filter).expect(400);
  expect(body).toMatchObject({ code: "invalid_request", errors: [{ pointer }] });
});

test("a resend says how many it has sent and how these ended, and counts no delivery that is not its own", async () => {
  const old = await Promise.all([giveUp(6), giveUp(5), giveUp(4), giveUp(3), giveUp(2)]);
  const { body } = await start().expect(200);
  const rows = [states.succeeded, states.exhausted, states.failing, states.expired];
  for (const [index, row] of rows.entries()) await makeDelivery(body.id, old[index] ?? "", row);
  // Manual deliveries of the same millisecond.
  for (const end of ["0", "f"]) {
    await insertDelivery(api.prisma, endpoint, { ...states.succeeded, id: `${body.id.slice(0, -1)}${end}` });
  }
  expect(await read(body.id)).toMatchObject({ total: 5, sent: 4, succeeded: 1, failed: 2, unfinished: 1 });
  const { body: list } = await ana.get(`/webhooks/${id}/resends`).expect(200);
  expect(list).toMatchObject({ resends: [{ id: body.id, sent: 4 }], nextCursor: null });
});

test("a resend that is stopped says who stopped it and what went out, and stays as it is", async () => {
  const old = await giveUp(5);
  await giveUp(4);
  const { body } = await start().expect(200);
  await makeDelivery(body.id, old, states.succeeded);
  const stopped = { state: "stopped", stopReason: "asked", stoppedBy: "Ana", total: 2, sent: 1, succeeded: 1 };
  const { body: first } = await stop(body.id).expect(200);
  expect(first).toMatchObject({ ...stopped, endedAtUtc: clock.now().toISOString() });
  clock.advance(1_000);
  expect((await stop(body.id).expect(200)).body).toEqual(first);
  expect(await api.prisma.resend.count({ where: { id: body.id, dueAt: null } })).toBe(1);
  expect((await preview()).deliveries).toBe(1);
});

test("resends come in parts, the newest first", async () => {
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) {
    clock.advance(1_000);
    ids.unshift(
      (await insertResend(api.prisma, endpoint, { startedAt: clock.now(), state: "finished", total: index })).id,
    );
  }
  const parts = await partsOf<ResendPage>(ana, `/webhooks/${id}/resends?limit=2`);
  expect(parts.flatMap(({ resends }) => resends.map((each) => each.id))).toEqual(ids);
});

test("a new delivery says which one it sends again", async () => {
  const old = await giveUp(5);
  const { body } = await start().expect(200);
  const made = await makeDelivery(body.id, old, states.succeeded);
  const resendOf = async (deliveryId: string) =>
    (await ana.get(`/webhooks/${id}/deliveries/${deliveryId}`).expect(200)).body.resendOf;
  expect(await resendOf(made.id)).toBe(old);
  expect(await resendOf(old)).toBeNull();
});

test("another endpoint's resend is a 404", async () => {
  await giveUp(1);
  const { body } = await start().expect(200);
  const other = (await create(ana)).endpoint;
  for (const resendId of [body.id, "no-id"]) {
    const { body: problem } = await ana.get(`/webhooks/${other.id}/resends/${resendId}`).expect(404);
    expect(problem.code).toBe("resend_not_found");
    await ana.post(`/webhooks/${other.id}/resends/${resendId}/stop`, {}).expect(404);
  }
  expect(await read(body.id)).toMatchObject({ state: "running" });
});
