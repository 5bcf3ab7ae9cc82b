import { DEFAULT_API_LIMITS } from "@herald/contracts";
import { beforeAll, expect, test } from "@jest/globals";
import { type OpenApiDocument, openApiDocument } from "../../src/openapi/document.ts";
import { states, storeDelivery } from "../support/deliveries.ts";
import { type Client, create, settings, useApi } from "../support/use-api.ts";

const api = useApi();
/** Each text of the other organization holds it. No answer may. */
const MARK = "PROPERTY-OF-THE-OTHER";
const METHODS = ["get", "post", "put", "delete"] as const;
let document: OpenApiDocument;
let own: Client;
let other: Client;
/** The ids of an endpoint, a delivery, an event (its key, its id and its entity), and a resend. */
let otherIds: string[];
let ownId: string;
let bodies: Record<string, unknown>;

beforeAll(async () => {
  document = openApiDocument({ limits: DEFAULT_API_LIMITS, basePath: "", cookieName: "herald_session" });
  own = await api.as({ organizationId: "own" });
  other = await api.as({ organizationId: "other" });
  ownId = (await create(own)).endpoint.id;
  const { endpoint } = await create(other, { name: MARK, url: `https://other.example.com/${MARK}` });
  const place = { id: endpoint.id, organizationId: "other" };
  const delivery = await storeDelivery(api.prisma, place, { ...states.exhausted, errorSummary: MARK });
  await api.prisma.businessEvent.updateMany({ data: { body: JSON.stringify(MARK) } });
  const { body: resend } = await other.post(`/webhooks/${endpoint.id}/resends`, {}).expect(200);
  const event = await api.prisma.businessEvent.findFirstOrThrow();
  otherIds = [endpoint.id, delivery, event.key, event.id, event.entityId, resend.id];
  const { version } = endpoint;
  bodies = {
    createWebhook: settings(),
    checkWebhook: { url: "https://own.example.com" },
    editWebhook: settings({ version }),
    deleteWebhook: { version },
    deliverManually: { eventType: "WorkItemCompleted", payloadJson: "{}" },
    startResend: {},
  };
});

const isOthers = (text: string): boolean => text.includes(MARK) || otherIds.some((id) => text.includes(id));

/** Each operation of the document with each of the other organization's ids wherever it takes one. */
function* requests(): Generator<[(typeof METHODS)[number], path: string, body: unknown]> {
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = operations[method];
      if (operation === undefined) continue;
      const idFilters = (operation.parameters ?? []).filter(
        (each) => each.in === "query" && /id(?:Prefix)?$/i.test(String(each.name)),
      );
      for (const id of otherIds) {
        const paths = new Set([path.replace("{id}", ownId), path].map((each) => each.replace(/\{\w+\}/g, id)));
        for (const each of paths) {
          yield [method, each, bodies[operation.operationId]];
          for (const { name } of idFilters) yield [method, `${each}?${name}=${id}`, undefined];
        }
      }
    }
  }
}

test("no operation shows, changes or erases anything of another organization, whichever of its ids it is asked with", async () => {
  const everything = async () => ({
    endpoints: await api.prisma.webhookEndpoint.findMany({ where: { organizationId: "other" } }),
    deliveries: await api.prisma.delivery.findMany({ where: { organizationId: "other" } }),
    resends: await api.prisma.resend.findMany(),
  });
  const [before, shown] = [await everything(), [] as string[]];
  let count = 0;
  for (const [method, path, body] of requests()) {
    const { status, text = "" } = await own[method](path, body);
    count += 1;
    // A 403 would say that there is such a thing.
    if (isOthers(text) || status === 403) shown.push(`${method} ${path} answered ${status} and showed ${text}`);
  }
  expect(count).toBeGreaterThan(200);
  expect(shown).toEqual([]);
  expect(await everything()).toEqual(before);
  // Its owner sees it by the same ids.
  for (const path of [`/webhooks/${otherIds[0]}`, `/events?entityId=${otherIds[4]}`, `/events/${otherIds[2]}`])
    expect(isOthers((await other.get(path).expect(200)).text)).toBe(true);
});

/** PostgreSQL gets UTF-8, where each half of a surrogate pair becomes U+FFFD: these three would be one organization there. */
const BROKEN = ["\ud800x", "\udbffx", "x\udc00"];

test("regression: tokens whose organization ids are broken Unicode share no organization, and reach none", async () => {
  const whole = await api.as({ organizationId: "\ufffdx" });
  const { endpoint } = await create(whole);
  for (const organizationId of BROKEN) {
    const client = await api.as({ organizationId });
    await client.get("/webhooks").expect(403, /organization_missing/);
    await client.post("/webhooks", settings()).expect(403, /organization_missing/);
    expect((await client.get("/session").expect(200)).body).toMatchObject({ organizationId: null });
  }
  expect((await whole.get("/webhooks").expect(200)).body).toMatchObject([{ id: endpoint.id }]);
  expect(await api.prisma.webhookEndpoint.count({ where: { organizationId: { notIn: ["own", "other"] } } })).toBe(1);
});

test("an organization id of 128 characters is one, even if each takes two UTF-16 units", async () => {
  const organizationId = "😀".repeat(128);
  await create(await api.as({ organizationId }));
  expect(await api.prisma.webhookEndpoint.count({ where: { organizationId } })).toBe(1);
});

test("organization ids are compared exactly: capitals make another organization", async () => {
  const id = "0190a1b2-0000-7000-8000-00000000000a";
  await create(await api.as({ organizationId: id }));
  expect((await (await api.as({ organizationId: id.toUpperCase() })).get("/webhooks").expect(200)).body).toEqual([]);
});
