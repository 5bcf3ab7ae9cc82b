import type { ManualRequest, SaveWebhookResponse } from "@herald/contracts";
import { idAt, insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { KEPT_MS, ownKey, requestHash } from "../src/idempotency/answer-once.ts";
import { takeIdempotencyKey } from "../src/sql/idempotency-keys.ts";
import { ATTEMPTED_AT, states } from "./support/deliveries.ts";
import { type Client, create, settings, useApi } from "./support/use-api.ts";

/** Leaves the delivery as a dispatcher would leave it; the tests decide how. */
let attempt: (request: ManualRequest) => Promise<unknown> = async () => {};
const clock = steeredClock(new Date());
const api = useApi({
  clock,
  requestAttempt: async (request) => {
    await attempt(request);
  },
});

/** Longer than the tests let time pass. */
const expiresInS = 30 * 24 * 3_600;
const LOCK_MS = 60_000;
let organizationId: string;
let client: Client;
let keys = 0;
const newKey = () => `key-${++keys}`;

beforeEach(async () => {
  attempt = ({ deliveryId }) => api.prisma.delivery.update({ where: { id: deliveryId }, data: states.succeeded });
  organizationId = api.newOrganization();
  client = await api.as({ organizationId, expiresInS });
});

const createWith = (key: string, changes: object = {}, by = client) =>
  by.post("/webhooks", settings({ ...changes })).set("Idempotency-Key", key);
const deliverWith = (key: string, id: string, payloadJson = "{}", by = client) =>
  by.post(`/webhooks/${id}/deliver`, { eventType: "WorkItemCompleted", payloadJson }).set("Idempotency-Key", key);
const noSecond = () => Promise.reject(new Error("A second attempt was asked for."));
const endpointCount = () => api.prisma.webhookEndpoint.count({ where: { organizationId } });
const deliveryCount = (endpointId: string) => api.prisma.delivery.count({ where: { endpointId } });

describe("a request that comes again with its idempotency key", () => {
  test("a create that comes again has the answer of the first one without its secret, and creates nothing", async () => {
    const key = newKey();
    const first = await createWith(key).expect(200);
    const again = await createWith(key).expect(200);
    expect((first.body as SaveWebhookResponse).signingSecret).toEqual(expect.any(String));
    expect(again.body).toEqual({ ...first.body, signingSecret: null });
    expect([first.headers["idempotent-replayed"], again.headers["idempotent-replayed"]]).toEqual([undefined, "true"]);
    expect(await endpointCount()).toBe(1);
  });

  test("a manual delivery that comes again is sent once, and has the answer of the first one, whatever became of it since", async () => {
    const { endpoint } = await create(client);
    const key = newKey();
    attempt = ({ deliveryId }) => api.prisma.delivery.update({ where: { id: deliveryId }, data: states.failing });
    const { body: first } = await deliverWith(key, endpoint.id).expect(200);
    await api.prisma.delivery.update({ where: { id: first.id }, data: states.succeeded });
    attempt = noSecond;
    const { body: again } = await deliverWith(key, endpoint.id).expect(200);
    expect(again).toEqual(first);
    expect(again).toMatchObject({ succeeded: false, attemptedAtUtc: ATTEMPTED_AT.toISOString() });
    expect(await deliveryCount(endpoint.id)).toBe(1);
  });

  test("an edit that comes again is no conflict, and has the answer of the first one without its new secret", async () => {
    const { endpoint } = await create(client);
    const key = newKey();
    const edit = () =>
      client
        .put(`/webhooks/${endpoint.id}`, settings({ name: "Edited", rotateSecret: true, version: endpoint.version }))
        .set("Idempotency-Key", key);
    const { body: first } = await edit().expect(200);
    const { body: again } = await edit().expect(200);
    expect(first.signingSecret).toEqual(expect.any(String));
    expect(again).toEqual({ ...first, signingSecret: null });
    expect(again.endpoint.version).not.toBe(endpoint.version);
  });

  test("an answer is kept for 24 hours; then the key is free for any request", async () => {
    const key = newKey();
    const { body: first } = await createWith(key).expect(200);
    clock.advance(KEPT_MS - 1);
    expect((await createWith(key).expect(200)).body.endpoint).toEqual(first.endpoint);
    clock.advance(1);
    const { body: other } = await createWith(key, { name: "Another" }).expect(200);
    expect(other.endpoint.id).not.toBe(first.endpoint.id);
    expect((await createWith(key, { name: "Another" }).expect(200)).body.endpoint).toEqual(other.endpoint);
    expect(await endpointCount()).toBe(2);
  });

  test("no signing secret is kept with an answer", async () => {
    const key = newKey();
    const { body } = await createWith(key).expect(200);
    const row = await api.prisma.idempotencyKey.findUniqueOrThrow({
      where: { organizationId_key: { organizationId, key: ownKey("user-1", key) } },
    });
    expect(JSON.parse(row.answer ?? "")).toEqual({ endpoint: body.endpoint, signingSecret: null });
    expect(row.answer).not.toContain(body.signingSecret);
  });
});

describe("an idempotency key that belongs to another request", () => {
  test("a key with another body is a 422, and nothing is done", async () => {
    const key = newKey();
    await createWith(key).expect(200);
    const { body } = await createWith(key, { name: "Another" }).expect(422);
    expect(body.code).toBe("idempotency_key_reused");
    expect(await endpointCount()).toBe(1);
  });

  test.each([
    ["no other person of the organization", (): object => ({ organizationId, subject: "user-2" })],
    ["no other organization", (): object => ({ organizationId: api.newOrganization() })],
  ])("regression: %s learns that a key was used: each has keys of their own", async (_who, caller) => {
    const key = newKey();
    const { body: own } = await createWith(key).expect(200);
    const other = await api.as({ expiresInS, ...caller() });
    const { body: theirs } = await createWith(key, {}, other).expect(200);
    expect(theirs.endpoint.id).not.toBe(own.endpoint.id);
    expect(theirs.signingSecret).toEqual(expect.any(String));
    expect(theirs.signingSecret).not.toBe(own.signingSecret);
  });
});

describe("a request whose first one is under way", () => {
  test("a manual delivery that comes again while the first one waits is a 409 that says when to come back", async () => {
    const { endpoint } = await create(client);
    const key = newKey();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const asked = new Promise<void>((resolve) => {
      attempt = async ({ deliveryId }) => {
        resolve();
        await answered;
        await api.prisma.delivery.update({ where: { id: deliveryId }, data: states.succeeded });
      };
    });
    const first = deliverWith(key, endpoint.id).then((response) => response);
    await asked;
    const { body, headers } = await deliverWith(key, endpoint.id).expect(409);
    expect(body.code).toBe("idempotency_in_progress");
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    answer();
    const { body: made } = await first;
    expect((await deliverWith(key, endpoint.id).expect(200)).body).toEqual(made);
    expect(await deliveryCount(endpoint.id)).toBe(1);
  });

  test("if many requests come with a new key at once, one does the work, and none does it twice", async () => {
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 10 }, () => createWith(key)));
    expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
    const ids = answers.filter(({ status }) => status === 200).map(({ body }) => body.endpoint.id);
    expect(new Set(ids).size).toBe(1);
    expect(await endpointCount()).toBe(1);
    expect((await createWith(key).expect(200)).body.endpoint.id).toBe(ids[0]);
  });
});

describe("a request that was not done", () => {
  test("a request with bad fields takes no key", async () => {
    const key = newKey();
    await createWith(key, { name: "" }).expect(400);
    await createWith(key).expect(200);
  });

  test("a key that can't be one is a 400", async () => {
    expect((await createWith("a b").expect(400)).body.code).toBe("idempotency_key_invalid");
    expect(await endpointCount()).toBe(0);
  });
});

describe("a process that died before it answered", () => {
  /** Leaves the row of such a process: the key, with the id of the thing that it was about to make. */
  async function leave(key: string, operation: string, params: Record<string, string>, body: object): Promise<string> {
    const targetId = idAt(clock.now());
    const taken = await takeIdempotencyKey(api.prisma, {
      organizationId,
      key: ownKey("user-1", key),
      requestHash: requestHash({ operation, params, body, key }),
      targetId,
      now: clock.now(),
      lockedUntil: new Date(clock.now().getTime() + LOCK_MS),
      forgottenAt: new Date(0),
    });
    expect(taken).toMatchObject({ isTaken: true, isKnown: false, targetId });
    return targetId;
  }

  test("the endpoint was created: the repetition answers with it and no secret, and creates none", async () => {
    const key = newKey();
    const id = await leave(key, "createWebhook", {}, settings());
    await insertEndpoint(api.prisma, { id, organizationId });
    clock.advance(LOCK_MS);
    const { body } = await createWith(key).expect(200);
    expect(body).toMatchObject({ endpoint: { id }, signingSecret: null });
    expect(await endpointCount()).toBe(1);
  });

  test("regression: the endpoint was created, and deleted since: the repetition creates one with another id, which no erasure is at", async () => {
    const key = newKey();
    const id = await leave(key, "createWebhook", {}, settings());
    const now = clock.now();
    await insertEndpoint(api.prisma, { id, organizationId, revision: 1n });
    const change = { organizationId, endpointId: id, endpointName: "Billing", revision: 1n, changedAt: now };
    await api.prisma.endpointChange.create({ data: { ...change, id: idAt(now), changedBy: "admin", after: {} } });
    const [{ version }] = (await client.get("/webhooks").expect(200)).body;
    await client.delete(`/webhooks/${id}`, { version }).expect(204);
    clock.advance(LOCK_MS);
    const { body } = await createWith(key).expect(200);
    expect(body.endpoint.id).not.toBe(id);
    expect((await createWith(key).expect(200)).body.endpoint).toEqual(body.endpoint);
    expect(await endpointCount()).toBe(1);
  });

  test("the manual delivery was stored: the repetition answers with how it stands, and sends none", async () => {
    const { endpoint } = await create(client);
    const key = newKey();
    const request = { eventType: "WorkItemCompleted", payloadJson: "{}" };
    const id = await leave(key, "deliverManually", { id: endpoint.id }, request);
    await insertDelivery(api.prisma, { id: endpoint.id, organizationId }, { ...states.failing, id, body: "{}" });
    attempt = noSecond;
    clock.advance(LOCK_MS);
    const { body } = await deliverWith(key, endpoint.id).expect(200);
    expect(body).toMatchObject({ id, succeeded: false });
    expect(await deliveryCount(endpoint.id)).toBe(1);
  });
});
