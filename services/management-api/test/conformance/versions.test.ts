import { PROBLEMS } from "@herald/contracts";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type Operation, operations } from "../../src/operations.ts";
import { versionOf } from "../../src/validation/opaque.ts";
import { type Client, create, settings, useApi } from "../support/use-api.ts";

const api = useApi();
let client: Client;

beforeEach(async () => {
  client = await api.as({ organizationId: api.newOrganization() });
});

test("§4.1.1 §7/409 an edit of a stale version is a 409, and succeeds after reloading", async () => {
  const { endpoint } = await create(client);
  const path = `/webhooks/${endpoint.id}`;
  await client.put(path, settings({ name: "first", version: endpoint.version })).expect(200);
  const { body } = await client.put(path, settings({ name: "second", version: endpoint.version })).expect(409);
  expect(body).toMatchObject({ code: "version_conflict", detail: expect.stringContaining("Reload") });
  const [reloaded] = (await client.get("/webhooks")).body;
  expect(reloaded.name).toBe("first");
  await client.put(path, settings({ name: "second", version: reloaded.version })).expect(200);
});

test("§4.1.1 §7/409 a deletion of a stale version is a 409, and the endpoint stays", async () => {
  const { endpoint } = await create(client);
  const path = `/webhooks/${endpoint.id}`;
  const { body } = await client.put(path, settings({ version: endpoint.version })).expect(200);
  await client.delete(path, { version: endpoint.version }).expect(409);
  await client.get("/webhooks").expect(200, [body.endpoint]);
  await client.delete(path, { version: body.endpoint.version }).expect(204);
});

test("§9.1 a refused edit changes nothing, the secret included", async () => {
  const { endpoint } = await create(client);
  const before = await api.prisma.webhookEndpoint.findUnique({ where: { id: endpoint.id } });
  await client
    .put(`/webhooks/${endpoint.id}`, settings({ rotateSecret: true, enabled: false, version: versionOf(7n) }))
    .expect(409);
  expect(await api.prisma.webhookEndpoint.findUnique({ where: { id: endpoint.id } })).toEqual(before);
});

test("§9.1 of twenty edits of one version exactly one wins", async () => {
  const { endpoint } = await create(client);
  const edits = Array.from({ length: 20 }, (_, index) =>
    client.put(`/webhooks/${endpoint.id}`, settings({ name: `edit ${index}`, version: endpoint.version })),
  );
  const statuses = (await Promise.all(edits)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.filter((status) => status === 409)).toHaveLength(19);
});

test("§9.1 of an edit and a delete of one version exactly one wins", async () => {
  const { endpoint } = await create(client);
  const [edited, deleted] = await Promise.all([
    client.put(`/webhooks/${endpoint.id}`, settings({ version: endpoint.version })),
    client.delete(`/webhooks/${endpoint.id}`, { version: endpoint.version }),
  ]);
  expect([
    [200, 409],
    [404, 204],
  ]).toContainEqual([edited.status, deleted.status]);
});

describe("what isn't a version", () => {
  const notVersions = [undefined, null, 1, "AAAAAAAAAAF="];
  test.each(notVersions)("§9.1 %j is a 400 on edit and delete", async (version) => {
    const { endpoint } = await create(client);
    for (const { status, body } of [
      await client.put(`/webhooks/${endpoint.id}`, settings({ version })),
      await client.delete(`/webhooks/${endpoint.id}`, { version }),
    ]) {
      expect(status).toBe(400);
      expect(body.errors).toMatchObject([{ pointer: "/version" }]);
    }
  });
});

/** A client reloads and tries again upon a 409, so nothing else may have it. */
test("§7/409 on the five routes a 409 is a version conflict", () => {
  const routes = ["listWebhooks", "createWebhook", "editWebhook", "deleteWebhook", "deliverManually"] as const;
  const conflicts = routes.map((id) => {
    const { problems = [] }: Omit<Operation, "rate"> = operations[id];
    return [id, problems.filter((code) => PROBLEMS[code].status === 409)];
  });
  expect(conflicts).toEqual([
    ["listWebhooks", []],
    ["createWebhook", []],
    ["editWebhook", ["version_conflict"]],
    ["deleteWebhook", ["version_conflict"]],
    ["deliverManually", []],
  ]);
  const everywhere = Object.entries(PROBLEMS)
    .filter(([, { status }]) => status === 409)
    .map(([code]) => code);
  expect(everywhere).toEqual(["version_conflict", "nothing_to_resend", "resend_running"]);
});
