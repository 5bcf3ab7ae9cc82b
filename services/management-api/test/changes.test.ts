import { steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, expect, test } from "@jest/globals";
import { type Client, create, edit, settings, useApi } from "./support/use-api.ts";

const clock = steeredClock(new Date());
const api = useApi({ clock });
let organizationId: string;
let ana: Client;

beforeEach(async () => {
  organizationId = api.newOrganization();
  ana = await api.as({ organizationId, name: "Ana", expiresInS: 100_000 });
});

const changesOf = async (id: string, query = "") =>
  (await ana.get(`/webhooks/${id}/changes${query}`).expect(200)).body.changes;

test("each change says who made it, when, and what was before and after, the newest first", async () => {
  const { endpoint } = await create(ana);
  clock.advance(60_000);
  const { endpoint: saved } = await edit(ana, endpoint, { name: "Payroll" });
  const [edited, created, ...more] = await changesOf(endpoint.id);
  expect(more).toEqual([]);
  expect(edited).toEqual({
    endpointId: endpoint.id,
    endpointName: "Payroll",
    version: saved.version,
    changedAtUtc: clock.now().toISOString(),
    kind: "edited",
    changedBy: "admin",
    name: "Ana",
    subject: expect.any(String),
    before: { name: "Billing" },
    after: { name: "Payroll" },
    secretReplaced: false,
    resent: null,
    delivered: null,
  });
  expect(created).toMatchObject({ kind: "created", version: endpoint.version, before: null, name: "Ana" });
  expect(created.after).toEqual({ name: "Billing", url: endpoint.url, enabled: true, events: endpoint.events });
});

test("an edit that changes nothing leaves no trace, and one that replaces the secret never shows it", async () => {
  const { endpoint, signingSecret } = await create(ana);
  const { endpoint: same } = await edit(ana, endpoint);
  expect(await changesOf(endpoint.id)).toHaveLength(1);
  const rotated = await edit(ana, same, { rotateSecret: true });
  const changes = await changesOf(endpoint.id);
  expect(changes[0]).toMatchObject({ kind: "edited", before: {}, after: {}, secretReplaced: true });
  const text = JSON.stringify(changes) + JSON.stringify(await stored(endpoint.id));
  for (const secret of [signingSecret, rotated.signingSecret]) expect(text).not.toContain(secret);
});

const stored = async (endpointId: string) =>
  (await api.prisma.endpointChange.findMany({ where: { endpointId } })).map(({ revision: _, ...change }) => change);

test("an endpoint that is paused says by whom, and no longer when it is resumed", async () => {
  const { endpoint } = await create(ana);
  const { endpoint: paused } = await edit(ana, endpoint, { enabled: false });
  const read = async () => (await ana.get(`/webhooks/${endpoint.id}`).expect(200)).body;
  expect(await read()).toMatchObject({ disabledReason: "paused", disabledBy: "Ana" });
  expect((await ana.get("/webhooks/overview").expect(200)).body[0]).toMatchObject({ disabledBy: "Ana" });

  const nameless = await api.as({ organizationId, subject: "auth0|7", expiresInS: 100_000 });
  const { endpoint: resumed } = await edit(nameless, paused);
  expect(await read()).toMatchObject({ disabledReason: null, disabledBy: null });
  await edit(nameless, resumed, { enabled: false });
  expect(await read()).toMatchObject({ disabledBy: "auth0|7" });
  expect((await changesOf(endpoint.id)).map(({ kind }: { kind: string }) => kind)).toEqual([
    "paused",
    "resumed",
    "paused",
    "created",
  ]);
});

test("a name that would hide or turn round what stands beside it is left out", async () => {
  for (const name of ["\u202Egnp", "a\0b", "\u200B", "An\u200Ba", "An\u200Ca", "x".repeat(201), 7]) {
    const client = await api.as({ organizationId, name, expiresInS: 100_000 });
    const { endpoint } = await create(client);
    expect((await changesOf(endpoint.id))[0].name).toBeNull();
  }
});

test("regression: a forged event that was sent by hand leaves its author's name, even if the endpoint is deleted", async () => {
  const { endpoint } = await create(ana, { name: "Short-lived" });
  const mallory = await api.as({ organizationId, name: "Mallory", subject: "auth0|13", expiresInS: 100_000 });
  clock.advance(1_000);
  const payload = { eventType: "WorkItemCompleted", payloadJson: '{"forged":true}' };
  const { body: delivery } = await mallory.post(`/webhooks/${endpoint.id}/deliver`, payload).expect(200);
  const { body: shown } = await ana.get(`/webhooks/${endpoint.id}/deliveries/${delivery.id}`).expect(200);
  expect(shown).toMatchObject({ author: "Mallory" });
  const ofEndpoint = await changesOf(endpoint.id);
  clock.advance(1_000);
  await mallory.delete(`/webhooks/${endpoint.id}`, { version: endpoint.version }).expect(204);
  await ana.get(`/webhooks/${endpoint.id}/changes`).expect(404);

  const { body } = await ana.get("/changes").expect(200);
  const by = { changedBy: "admin", name: "Mallory", subject: "auth0|13" };
  const of = { endpointId: endpoint.id, endpointName: "Short-lived" };
  expect(body).toMatchObject({
    changes: [
      { ...of, ...by, kind: "deleted", before: { name: "Short-lived", url: endpoint.url }, after: null },
      { ...of, ...by, kind: "delivered", delivered: { deliveryId: delivery.id, eventType: "WorkItemCompleted" } },
      { ...of, kind: "created", name: "Ana" },
    ],
    nextCursor: null,
  });
  expect(body.changes.slice(1)).toEqual(ofEndpoint);
  expect(
    JSON.stringify(await api.prisma.endpointChange.findMany({ where: { organizationId } }), (_, value) =>
      typeof value === "bigint" ? null : value,
    ),
  ).not.toContain("forged");
});

test("the changes of all endpoints come in parts, the newest first, and none of another organization's", async () => {
  const other = await api.as({ organizationId: api.newOrganization(), expiresInS: 100_000 });
  await create(other);
  for (const name of ["one", "two", "three"]) {
    clock.advance(1_000);
    await create(ana, { name });
  }
  const { body: first } = await ana.get("/changes?limit=2").expect(200);
  const { body: second } = await ana.get(`/changes?limit=2&cursor=${first.nextCursor}`).expect(200);
  const namesOf = ({ changes }: { changes: { endpointName: string }[] }) =>
    changes.map(({ endpointName }) => endpointName);
  expect([namesOf(first), namesOf(second), second.nextCursor]).toEqual([["three", "two"], ["one"], null]);
  expect((await other.get("/changes").expect(200)).body.changes).toHaveLength(1);
  await ana.get("/changes?cursor=nonsense").expect(400);
});

const noticesOf = (endpointId: string) => api.prisma.notice.findMany({ where: { endpointId }, orderBy: { id: "asc" } });

test("the product is notified who resumed an endpoint, replaced its secret and deleted it, and of no other edit", async () => {
  let { endpoint } = await create(ana);
  for (const change of [{ name: "Payroll" }, { enabled: false }, { enabled: true }, { rotateSecret: true }]) {
    ({ endpoint } = await edit(ana, endpoint, change));
  }
  const colleague = await api.as({ organizationId, subject: "auth0|7", expiresInS: 100_000 });
  await colleague.delete(`/webhooks/${endpoint.id}`, { version: endpoint.version }).expect(204);
  const notices = await noticesOf(endpoint.id);
  const by = (name: string | null) => ({ author: { changedBy: "admin", name, subject: expect.any(String) } });
  expect(notices.map(({ type, details }) => [type, details])).toEqual([
    ["resumed", by("Ana")],
    ["secretReplaced", by("Ana")],
    ["deleted", { author: { changedBy: "admin", name: null, subject: "auth0|7" } }],
  ]);
  for (const notice of notices) {
    const now = clock.now();
    expect(notice).toMatchObject({ organizationId, endpointUrl: endpoint.url, occurredAt: now, publishAt: now });
  }
});

test("one edit that resumes an endpoint and replaces its secret notifies the product of both", async () => {
  const { endpoint } = await create(ana, { enabled: false });
  await edit(ana, endpoint, { rotateSecret: true });
  expect((await noticesOf(endpoint.id)).map(({ type }) => type)).toEqual(["resumed", "secretReplaced"]);
});

test("an edit or a deletion of another version makes no notice, and two at once make one", async () => {
  const { endpoint } = await create(ana);
  const path = `/webhooks/${endpoint.id}`;
  await ana
    .put(path)
    .send(settings({ rotateSecret: true, version: "AAAAAAAAAAk=" }))
    .expect(409);
  await ana.delete(path, { version: "AAAAAAAAAAk=" }).expect(409);
  expect(await noticesOf(endpoint.id)).toEqual([]);
  const both = settings({ rotateSecret: true, version: endpoint.version });
  const answers = await Promise.all([ana.put(path).send(both), ana.put(path).send(both)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect((await noticesOf(endpoint.id)).map(({ type }) => type)).toEqual(["secretReplaced"]);
});
