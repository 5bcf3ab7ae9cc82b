import { insertEvent, insertResend } from "@herald/dev/harness/rows";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { permissionsFor } from "../../src/authentication/access.ts";
import { type OperationId, operations } from "../../src/operations.ts";
import { states, storeDelivery } from "../support/deliveries.ts";
import { type Client, create, settings, type TokenOptions, token, useApi } from "../support/use-api.ts";

const api = useApi();

/** A cell of the table: the status, and the code if it is a problem. */
type Outcome = "ok" | `${number} ${string}`;

const VIEW = "integrations.view";

interface CallerKind {
  headers: (organizationId: string) => Promise<Record<string, string>>;
  /** By what an operation needs. `session` takes any valid token. */
  outcome: Record<"session" | "view" | "manage" | "save", Outcome>;
}

const everywhere = (outcome: Outcome): CallerKind["outcome"] => ({
  session: outcome,
  view: outcome,
  manage: outcome,
  save: outcome,
});
const notAllowed = (outcome: Outcome): CallerKind["outcome"] => ({ ...everywhere(outcome), session: "ok" });
const bearer = (options: TokenOptions) => async (organizationId: string) => ({
  Authorization: `Bearer ${await token({ organizationId, ...options })}`,
});
const header = (name: string, value: string) => async () => ({ [name]: value });

const callers: Record<string, CallerKind> = {
  "everything allowed": { headers: bearer({}), outcome: everywhere("ok") },
  "a token and an API key": {
    headers: async (organizationId) => ({ ...(await bearer({})(organizationId)), "X-API-Key": "key" }),
    outcome: everywhere("ok"),
  },

  "no token": { headers: async () => ({}), outcome: everywhere("401 authentication_required") },
  "an expired token": { headers: bearer({ expiresInS: -60 }), outcome: everywhere("401 token_expired") },
  "a token in the query only": { headers: async () => ({}), outcome: everywhere("401 authentication_required") },

  "an API key as X-API-Key": { headers: header("X-API-Key", "key"), outcome: everywhere("401 api_key_not_accepted") },

  "no permission": { headers: bearer({ permissions: [] }), outcome: notAllowed("403 permission_missing") },
  "view only": {
    headers: bearer({ permissions: [VIEW] }),
    outcome: { session: "ok", view: "ok", manage: "403 permission_missing", save: "403 permission_missing" },
  },
  "a cancelled subscription": {
    headers: bearer({ subscription: "canceled" }),
    outcome: notAllowed("403 subscription_inactive"),
  },
  "a missing module": { headers: bearer({ modules: ["projects"] }), outcome: notAllowed("403 module_missing") },
  "no entitlement": {
    headers: bearer({ entitlements: [] }),
    outcome: { session: "ok", view: "ok", manage: "ok", save: "403 entitlement_missing" },
  },
  "a token of another organization than the request is meant for": {
    headers: async (organizationId) => ({
      ...(await bearer({})(organizationId)),
      "Herald-Organization": encodeURIComponent(`another than ${organizationId} 🚀`),
    }),
    outcome: notAllowed("403 organization_mismatch"),
  },
  "a token of the organization that the request is meant for": {
    headers: async (organizationId) => ({
      ...(await bearer({})(organizationId)),
      "Herald-Organization": encodeURIComponent(organizationId),
    }),
    outcome: everywhere("ok"),
  },
  "no organization": { headers: bearer({ organizationId: null }), outcome: notAllowed("403 organization_missing") },
};

/** The rights that each operation needs, written down once more: SPEC 5.2 and 5.3, and beyond SPEC the rules of docs/api/authentication.md. */
const needs: Record<OperationId, keyof CallerKind["outcome"]> = {
  listWebhooks: "view",
  createWebhook: "save",
  listOverviews: "view",
  checkWebhook: "manage",
  readWebhook: "view",
  readRates: "view",
  editWebhook: "save",
  deleteWebhook: "manage",
  deliverManually: "save",
  listDeliveries: "view",
  listAllDeliveries: "view",
  readDelivery: "view",
  listChanges: "view",
  listAllChanges: "view",
  listResends: "view",
  previewResend: "view",
  startResend: "save",
  readResend: "view",
  stopResend: "manage",
  findEvents: "view",
  readEvent: "view",
  readSession: "session",
  listEventTypes: "view",
};

/** An organization that has one of each thing that has an id. */
async function makeOrganization() {
  const organizationId = api.newOrganization();
  const owner = await api.as({ organizationId });
  const { endpoint } = await create(owner);
  const place = { id: endpoint.id, organizationId };
  const deliveryId = await storeDelivery(api.prisma, place, { ...states.exhausted, body: "{}" });
  const { id: resendId } = await insertResend(api.prisma, place, { state: "finished" });
  const { key } = await insertEvent(api.prisma, organizationId);
  const ids = { id: endpoint.id, deliveryId, key, resendId };
  return { organizationId, owner, ids, version: endpoint.version };
}

/** The organization of callers that are refused: they change nothing, so one is enough. */
let untouched: Awaited<ReturnType<typeof makeOrganization>>;
beforeAll(async () => {
  untouched = await makeOrganization();
});

describe.each(Object.keys(callers))("caller with %s", (name) => {
  const caller = callers[name] as CallerKind;
  test.each(Object.keys(needs) as OperationId[])(
    "§5.2 §5.3 §7/401 §7/403 %s is open to the callers that its table names",
    async (operation) => {
      const expected = caller.outcome[needs[operation]];
      const { organizationId, owner, ids, version } = expected === "ok" ? await makeOrganization() : untouched;
      const query = new URLSearchParams();
      if (operation === "findEvents") query.set("deliveryId", ids.deliveryId);
      if (name.endsWith("query only")) query.set("access_token", await token({ organizationId }));

      const response = await send(await api.as(null), operation, ids, version, query).set(
        await caller.headers(organizationId),
      );
      expect(response.status < 300 ? "ok" : `${response.status} ${response.body.code}`).toBe(expected);

      if (expected === "ok") return;
      const lacksPermission = response.body.code === "permission_missing";
      if (response.status === 401 || lacksPermission) {
        const access = operations[operation].access;
        const scope = access === null ? [] : permissionsFor(access);
        expect(response.headers["www-authenticate"]).toMatch(
          lacksPermission ? `Bearer error="insufficient_scope", scope="${scope.join(" ")}"` : /^Bearer/,
        );
      }
      // A caller who isn't allowed has changed nothing.
      expect((await owner.get("/webhooks")).body).toMatchObject([{ id: ids.id, version }]);
    },
  );
});

function send(
  client: Client,
  operation: OperationId,
  ids: { id: string; deliveryId: string; key: string; resendId: string },
  version: string,
  query: URLSearchParams,
) {
  const path = operations[operation].path.replace(/\{(\w+)\}/g, (_, name: keyof typeof ids) => ids[name]);
  const bodies: Partial<Record<OperationId, object>> = {
    createWebhook: settings(),
    checkWebhook: {},
    editWebhook: settings({ version }),
    deleteWebhook: { version },
    startResend: {},
    deliverManually: { eventType: "WorkItemCompleted", payloadJson: "{}" },
  };
  return client[operations[operation].method](query.size === 0 ? path : `${path}?${query}`, bodies[operation]);
}

test("§5.1 a refusal of an API key says that it can't authorize this, and what can", async () => {
  const { body } = await (await api.as(null)).get("/webhooks").set("X-API-Key", "k").expect(401);
  expect(body.detail).toMatch(/x-api-key.*API keys don't authorize.*Bearer/i);
});

test("§5.4 a 403 names everything that is missing", async () => {
  const client = await api.as({ permissions: [], subscription: "none", modules: [], entitlements: [] });
  const { body } = await client.post("/webhooks", settings()).expect(403);
  expect(body.missing).toEqual([
    "active subscription",
    "module administration",
    "permission integrations.view",
    "permission integrations.manage",
    "entitlement integrations",
  ]);
  for (const what of body.missing) expect(body.detail).toContain(what);
});

test("§5.4 a caller without access gets a 401 or 403, even if the request itself is bad", async () => {
  const viewer = await api.as({ permissions: [VIEW] });
  await viewer.post("/webhooks", { name: 1 }).expect(403);
  await viewer.put("/webhooks/nothing", {}).expect(403);
  await (await api.as(null)).post("/webhooks").type("text/plain").send("x".repeat(1_000_000)).expect(401);
});

test("§5.1 a refusal of an expired token says what to do", async () => {
  const { body } = await (await api.as({ expiresInS: -60 })).get("/webhooks").expect(401);
  expect(body.detail).toMatch(/Refresh/);
});
