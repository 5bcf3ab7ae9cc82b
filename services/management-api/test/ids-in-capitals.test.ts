import { secretBox } from "@herald/common/security/secret-box";
import type { ManualRequest, SaveWebhookResponse } from "@herald/contracts";
import { beforeEach, expect, test } from "@jest/globals";
import { type Client, create, SECRET_KEYS, settings, useApi } from "./support/use-api.ts";

// SQL Server, .NET and many Java clients write UUIDs in capitals. An id has one spelling behind the place where a request is
// admitted; these tests ask for it wherever a text could be compared.

const requests: ManualRequest[] = [];
const api = useApi({
  async tellOwner(message) {
    if (message.kind === "manual") requests.push(message);
    return false;
  },
});

let client: Client;
beforeEach(async () => {
  requests.length = 0;
  client = await api.as({ organizationId: api.newOrganization() });
});

test("regression: a secret that is replaced under an id in capitals opens with the row's id", async () => {
  const { endpoint } = await create(client);
  const replacing = settings({ version: endpoint.version, rotateSecret: true });
  const { body } = await client.put(`/webhooks/${endpoint.id.toUpperCase()}`, replacing).expect(200);
  const { endpoint: saved, signingSecret } = body as SaveWebhookResponse;
  const row = await api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } });
  expect(secretBox(SECRET_KEYS).open(row.sealedSecret, row.id)).toBe(signingSecret);
  expect(saved.id).toBe(row.id);
});

test("an edit under an id in capitals makes a version with which the other spelling conflicts", async () => {
  const { endpoint } = await create(client);
  const edit = settings({ version: endpoint.version, name: "Renamed" });
  await client.put(`/webhooks/${endpoint.id.toUpperCase()}`, edit).expect(200);
  await client.put(`/webhooks/${endpoint.id}`, edit).expect(409);
  await client.put(`/webhooks/${endpoint.id.toUpperCase()}`, { ...edit, rotateSecret: true }).expect(409);
});

test("regression: a manual delivery asks dispatchers for the endpoint in one spelling, however the path writes it", async () => {
  const { endpoint } = await create(client);
  const payload = { eventType: "WorkItemCompleted", payloadJson: "{}" };
  await client.post(`/webhooks/${endpoint.id.toUpperCase()}/deliver`, payload).expect(200);
  await client.post(`/webhooks/${endpoint.id}/deliver`, payload).expect(200);
  expect(requests.map(({ endpointId }) => endpointId)).toEqual([endpoint.id, endpoint.id]);
});

test("a request that comes again with its idempotency key and the id in capitals has the first one's answer", async () => {
  const { endpoint } = await create(client);
  const payload = { eventType: "WorkItemCompleted", payloadJson: "{}" };
  const deliver = (id: string) =>
    client.post(`/webhooks/${id}/deliver`, payload).set("Idempotency-Key", "the-same").expect(200);
  const { body: first } = await deliver(endpoint.id);
  const { body: again } = await deliver(endpoint.id.toUpperCase());
  expect(again).toEqual(first);
  expect(requests).toHaveLength(1);
});
