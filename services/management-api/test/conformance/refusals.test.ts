import type { WebhookEndpointSummary } from "@herald/contracts";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Response } from "supertest";
import { type Operation, operations } from "../../src/operations.ts";
import { catalogue, problemKinds } from "../../src/problems/catalogue.ts";
import { type Client, create, settings, type TokenOptions, useApi } from "../support/use-api.ts";

const api = useApi({ settings: { MAX_ENDPOINTS: "2" } });
let organizationId: string;
let client: Client;
/** An active endpoint, subscribed to WorkItemCompleted. */
let endpoint: WebhookEndpointSummary;

beforeEach(async () => {
  organizationId = api.newOrganization();
  client = await api.as({ organizationId });
  ({ endpoint } = await create(client));
});

const STALE = "AAAAAAAAAGM=";
const OTHER = "00000000-0000-7000-8000-000000000000";
const deliver = (fields: object, id = endpoint.id) =>
  client.post(`/webhooks/${id}/deliver`, { eventType: "WorkItemCompleted", payloadJson: "{}", ...fields });
const as = (caller: TokenOptions | null) => api.as(caller && { organizationId, ...caller });
const viewer = { permissions: ["integrations.view"] };
const unentitled = { entitlements: [] };

describe("§7 each cause has one status on the five routes", () => {
  const createAs = async (caller: TokenOptions | null) => (await as(caller)).post("/webhooks", settings());
  const edit = (fields: Record<string, unknown>, id = endpoint.id) => client.put(`/webhooks/${id}`, settings(fields));
  const remove = (fields: object, id = endpoint.id) => client.delete(`/webhooks/${id}`, fields);
  /** Route, cause, request, status, code. A client reloads and tries again upon a 409, so nothing else may have it. */
  const causes: [string, string, () => PromiseLike<Response>, number, string][] = [
    ["list", "an unknown parameter", () => client.get("/webhooks?page=2"), 400, "invalid_request"],
    ["list", "no token", async () => (await as(null)).get("/webhooks"), 401, "authentication_required"],
    ["list", "no permission", async () => (await as({ permissions: [] })).get("/webhooks"), 403, "permission_missing"],
    ["create", "a bad URL", () => client.post("/webhooks", settings({ url: "http://a" })), 400, "invalid_request"],
    ["create", "a body that is no JSON", () => client.post("/webhooks").type("json").send("{"), 400, "malformed_json"],
    ["create", "no token", () => createAs(null), 401, "authentication_required"],
    ["create", "no permission", () => createAs(viewer), 403, "permission_missing"],
    ["create", "not entitled", () => createAs(unentitled), 403, "entitlement_missing"],
    ["edit", "a bad URL", () => edit({ url: "x", version: endpoint.version }), 400, "invalid_request"],
    ["edit", "no version", () => edit({ version: null }), 400, "invalid_request"],
    ["edit", "a stale version", () => edit({ version: STALE }), 409, "version_conflict"],
    ["edit", "no such endpoint", () => edit({ version: STALE }, OTHER), 404, "webhook_not_found"],
    ["delete", "no version", () => remove({}), 400, "invalid_request"],
    ["delete", "a stale version", () => remove({ version: STALE }), 409, "version_conflict"],
    ["delete", "no such endpoint", () => remove({ version: STALE }, OTHER), 404, "webhook_not_found"],
    ["deliver", "an event that it lacks", () => deliver({ eventType: "RiskCreated" }), 400, "event_not_subscribed"],
    ["deliver", "a payload that is no JSON", () => deliver({ payloadJson: "{" }), 400, "invalid_request"],
    ["deliver", "no such endpoint", () => deliver({}, OTHER), 404, "webhook_not_found"],
  ];

  test.each(causes)("§7/400 §7/401 §7/403 §7/409 %s: %s", async (_route, _cause, request, status, code) => {
    const answer = await request();
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
  });

  test("§7/400 create: as many endpoints as the organization may have", async () => {
    await create(client);
    const { body } = await client.post("/webhooks", settings()).expect(400);
    expect(body.code).toBe("endpoint_limit_reached");
  });

  test("§7/409 on the five routes a 409 is a version conflict, or an idempotency key whose first request is under way", () => {
    const routes = ["listWebhooks", "createWebhook", "editWebhook", "deleteWebhook", "deliverManually"] as const;
    const conflicts = routes.map((id) => {
      const { problems = [], takesIdempotencyKey }: Omit<Operation, "rate"> = operations[id];
      return [id, problems.filter((code) => catalogue[code].status === 409), takesIdempotencyKey === true];
    });
    expect(conflicts).toEqual([
      ["listWebhooks", [], false],
      ["createWebhook", [], true],
      ["editWebhook", ["version_conflict"], true],
      ["deleteWebhook", ["version_conflict"], false],
      ["deliverManually", [], true],
    ]);
    const everywhere = problemKinds.filter(([, { status }]) => status === 409).map(([code]) => code);
    expect(everywhere).toEqual(["version_conflict", "nothing_to_resend", "resend_running", "idempotency_in_progress"]);
  });
});
