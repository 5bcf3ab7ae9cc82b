import type { EndpointChangePage, ManualRequest, SaveWebhookResponse } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { plansOf } from "@herald/dev/harness/plans";
import { idAt } from "@herald/dev/harness/rows";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { requestHash } from "../src/idempotency/keyed-request.ts";
import type { OperationId } from "../src/operations.ts";
import { changeByRequest } from "../src/sql/endpoint-changes.ts";
import { states, storeDelivery } from "./support/deliveries.ts";
import { type Client, create, edit, settings, useApi } from "./support/use-api.ts";

/** Leaves the delivery as a dispatcher would leave it; the tests decide how. */
let attempt: (request: ManualRequest) => Promise<unknown>;
let changed: () => Promise<void>;
const api = useApi({
  async tellOwner(message) {
    await (message.kind === "manual" ? attempt(message) : changed());
    return true;
  },
});

let organizationId: string;
let client: Client;
let endpoint: SaveWebhookResponse["endpoint"];
let keys = 0;
const newKey = () => `key-${++keys}`;
const succeed = ({ deliveryId }: ManualRequest) =>
  api.prisma.delivery.update({ where: { id: deliveryId }, data: states.succeeded });

beforeEach(async () => {
  attempt = succeed;
  changed = async () => {};
  organizationId = api.newOrganization();
  client = await api.as({ organizationId });
  endpoint = (await create(client)).endpoint;
});

interface Kind {
  operation: OperationId;
  method: "post" | "put" | "delete";
  path(): string;
  body(): object;
  status?: number;
  /** The answer to a repetition, made of the first answer: what there is now. */
  again(first: SaveWebhookResponse): object;
  /** What there is if it was done once. */
  count(): Promise<number>;
}

const ofEndpoint = () => ({ where: { endpointId: endpoint.id } });
const withoutSecret = (first: SaveWebhookResponse) => ({ ...first, signingSecret: null });
const same = (first: object) => first;
const kinds: Record<string, Kind> = {
  create: {
    operation: "createWebhook",
    method: "post",
    path: () => "/webhooks",
    body: () => settings({ name: "Second" }),
    again: withoutSecret,
    count: () => api.prisma.webhookEndpoint.count({ where: { organizationId, name: "Second" } }),
  },
  edit: {
    operation: "editWebhook",
    method: "put",
    path: () => `/webhooks/${endpoint.id}`,
    body: () => settings({ name: "Edited", rotateSecret: true, version: endpoint.version }),
    again: withoutSecret,
    count: () => api.prisma.webhookEndpoint.count({ where: { id: endpoint.id, name: "Edited", revision: 2n } }),
  },
  "edit that changes nothing": {
    operation: "editWebhook",
    method: "put",
    path: () => `/webhooks/${endpoint.id}`,
    body: () => settings({ version: endpoint.version }),
    again: same,
    count: () => api.prisma.webhookEndpoint.count({ where: { id: endpoint.id, revision: 2n } }),
  },
  deletion: {
    operation: "deleteWebhook",
    method: "delete",
    path: () => `/webhooks/${endpoint.id}`,
    body: () => ({ version: endpoint.version }),
    status: 204,
    again: same,
    count: () => api.prisma.notice.count({ where: { endpointId: endpoint.id, type: "deleted" } }),
  },
  "manual delivery": {
    operation: "deliverManually",
    method: "post",
    path: () => `/webhooks/${endpoint.id}/deliver`,
    body: () => ({ eventType: "WorkItemCompleted", payloadJson: "{}" }),
    again: same,
    count: () => api.prisma.delivery.count(ofEndpoint()),
  },
  resend: {
    operation: "startResend",
    method: "post",
    path: () => `/webhooks/${endpoint.id}/resends`,
    body: () => ({}),
    again: same,
    count: () => api.prisma.resend.count(ofEndpoint()),
  },
};
const table = Object.entries(kinds);

/** What a resend finds. */
const giveUpOne = () =>
  storeDelivery(api.prisma, { id: endpoint.id, organizationId }, { ...states.exhausted, body: "{}" });
const send = (kind: Kind, key: string, by = client) =>
  by[kind.method](kind.path(), kind.body()).set("Idempotency-Key", key);

describe("a request that is repeated with its idempotency key", () => {
  test.each(table)("%s: it is done once, and the repetition is a success without a secret", async (name, kind) => {
    if (name === "resend") await giveUpOne();
    const key = newKey();
    const { body: first } = await send(kind, key).expect(kind.status ?? 200);
    const before = await api.prisma.endpointChange.count(ofEndpoint());
    for (const _ of [1, 2]) {
      expect((await send(kind, key).expect(kind.status ?? 200)).body).toEqual(kind.again(first));
    }
    expect(await kind.count()).toBe(1);
    expect(await api.prisma.endpointChange.count(ofEndpoint())).toBe(before);
  });

  test.each(table)("%s: of ten at once one is done, and all are successes, with one secret", async (name, kind) => {
    if (name === "resend") await giveUpOne();
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(kind, key)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(kind.status ?? 200));
    const [first] = answers.toSorted((one) => (one.body.signingSecret ? -1 : 1)).map(({ body }) => body);
    expect(new Set(answers.map(({ body }) => body.signingSecret ?? null)).size).toBe(first?.signingSecret ? 2 : 1);
    expect(await kind.count()).toBe(1);
  });

  test.each(table)("%s: it is done if the first one's transaction rolls back while it waits", async (name, kind) => {
    if (name === "resend") await giveUpOne();
    const key = newKey();
    const { operation } = kind;
    const params: Record<string, string> = kind.path() === "/webhooks" ? {} : { id: endpoint.id };
    const keyed = { organizationId, subject: "user-1", key, operation, params, body: kind.body() };
    let answer: Promise<{ status: number }> = Promise.reject(new Error("not sent"));
    answer.catch(() => {});
    const first = api.prisma.$transaction(async (transaction) => {
      await transaction.endpointChange.create({
        data: {
          ...{ id: idAt(new Date()), organizationId, endpointId: endpoint.id, endpointName: "Billing", revision: 1n },
          ...{ changedAt: new Date(), changedBy: "admin", request: requestHash(keyed) },
        },
      });
      answer = send(kind, key).then((response) => response);
      await eventually(async () => {
        const [row] = await transaction.$queryRaw<[{ waiting: number }]>`
          select count(*)::int as waiting from pg_locks where locktype = 'transactionid' and not granted`;
        expect(row.waiting).toBe(1);
      });
      throw new Error("rolled back");
    });
    await expect(first).rejects.toThrow("rolled back");
    expect(await answer).toMatchObject({ status: kind.status ?? 200 });
    expect(await kind.count()).toBe(1);
  });
});

describe("a repetition is answered with what there is now", () => {
  test("a manual delivery that failed at first, and succeeded since", async () => {
    attempt = ({ deliveryId }) => api.prisma.delivery.update({ where: { id: deliveryId }, data: states.failing });
    const key = newKey();
    const deliver = kinds["manual delivery"] as Kind;
    const { body: first } = await send(deliver, key).expect(200);
    expect(first.succeeded).toBe(false);
    await succeed({ deliveryId: first.id } as ManualRequest);
    expect((await send(deliver, key).expect(200)).body).toMatchObject({ id: first.id, succeeded: true });
  });

  test("a manual delivery whose first attempt is under way is answered at once, and is sent once", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    attempt = async (request) => {
      ask();
      await answered;
      await succeed(request);
    };
    const key = newKey();
    const deliver = kinds["manual delivery"] as Kind;
    const first = send(deliver, key).then(({ body }) => body);
    await asked;
    const { body } = await send(deliver, key).expect(200);
    expect(body).toMatchObject({ attemptCount: 0, succeeded: false });
    answer();
    expect(await first).toMatchObject({ id: body.id, succeeded: true });
  });

  test("§9.1 regression: an edit whose answer got lost is no conflict with itself, also if others edited since", async () => {
    const key = newKey();
    await send(kinds.edit as Kind, key).expect(200);
    const [{ version }] = (await client.get("/webhooks").expect(200)).body;
    const { endpoint: now } = await edit(client, { id: endpoint.id, version }, { name: "By another" });
    const { body } = await send(kinds.edit as Kind, key).expect(200);
    expect(body).toEqual({ endpoint: now, signingSecret: null });
  });

  test("an edit that is stored, and whose process then meets an error, is a success whose secret is lost", async () => {
    changed = () => Promise.reject(new Error("The process ends."));
    const { body } = await send(kinds.edit as Kind, newKey()).expect(200);
    expect(body).toMatchObject({ endpoint: { name: "Edited" }, signingSecret: null });
  });

  test.each(["create", "edit", "manual delivery"])("a %s whose endpoint was deleted since is a 404", async (name) => {
    const key = newKey();
    const kind = kinds[name] as Kind;
    await send(kind, key).expect(200);
    const list: SaveWebhookResponse["endpoint"][] = (await client.get("/webhooks").expect(200)).body;
    for (const { id, version } of list) await client.delete(`/webhooks/${id}`, { version }).expect(204);
    expect((await send(kind, key).expect(404)).body.code).toBe("webhook_not_found");
    expect((await client.get("/webhooks").expect(200)).body).toEqual([]);
  });

  test("the trail does not list an edit that changed nothing", async () => {
    await send(kinds["edit that changes nothing"] as Kind, newKey()).expect(200);
    const { changes }: EndpointChangePage = (await client.get(`/webhooks/${endpoint.id}/changes`).expect(200)).body;
    expect(changes.map(({ kind }) => kind)).toEqual(["created"]);
  });

  test("the trail finds a request by its own index", async () => {
    const plans = await plansOf(api.prisma, (queries) =>
      changeByRequest(queries, { organizationId, requestHash: Buffer.alloc(32) }),
    );
    expect(plans.generic.indexes).toEqual(["endpoint_change_request_key"]);
  });
});

describe("a key that came with another request", () => {
  const createWith = (key: string, changes: object = {}, by = client) =>
    by.post("/webhooks", settings({ ...changes })).set("Idempotency-Key", key);

  test("with another body it is another request", async () => {
    const key = newKey();
    const { body: one } = await createWith(key).expect(200);
    const { body: other } = await createWith(key, { name: "Another" }).expect(200);
    expect(other.endpoint.id).not.toBe(one.endpoint.id);
  });

  test.each([
    ["another person of the organization", (): object => ({ organizationId, subject: "user-2" })],
    ["another organization", (): object => ({ organizationId: api.newOrganization() })],
  ])("regression: by %s it is another request: nobody learns that a key was used", async (_who, caller) => {
    const key = newKey();
    const { body: own } = await createWith(key).expect(200);
    const { body: theirs } = await createWith(key, {}, await api.as(caller())).expect(200);
    expect(theirs.endpoint.id).not.toBe(own.endpoint.id);
    expect(theirs.signingSecret).toEqual(expect.any(String));
    expect(theirs.signingSecret).not.toBe(own.signingSecret);
  });

  test("a request that was refused takes no key", async () => {
    const key = newKey();
    await createWith(key, { name: "" }).expect(400);
    await createWith(key).expect(200);
  });

  test("a key that can't be one is a 400", async () => {
    expect((await createWith("a b").expect(400)).body.code).toBe("idempotency_key_invalid");
    expect(await api.prisma.webhookEndpoint.count({ where: { organizationId } })).toBe(1);
  });
});
