import { secretBox } from "@herald/common/security/secret-box";
import { EVENT_TYPES } from "@herald/contracts";
import { beforeEach, expect, test } from "@jest/globals";
import { type Client, create, edit, SECRET_KEYS, settings, useApi } from "../support/use-api.ts";

const api = useApi({ settings: { DENIED_NETWORKS: "8.8.8.0/24", NAT64_PREFIXES: "2a01:4f8:64::/96" } });
let client: Client;

beforeEach(async () => {
  client = await api.as({ organizationId: api.newOrganization() });
});

test("§2.1/fields §4.1/list §4.1/create an endpoint has exactly these fields", async () => {
  const { endpoint } = await create(client);
  expect(endpoint).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    name: "Billing",
    url: "https://hooks.example.com/herald",
    enabled: true,
    consecutiveFailures: 0,
    events: ["WorkItemCompleted"],
    deliveries: [],
    version: expect.stringMatching(/^[A-Za-z0-9+/]{11}=$/),
  });
  await client.get("/webhooks").expect(200, [endpoint]);
});

test("§2.3/shown §2.3/text the answer has a new signing secret, text that looks like Base64, whether rotateSecret is true, false or absent", async () => {
  const secrets = new Set<string | null>();
  for (const rotateSecret of [true, false, undefined])
    secrets.add((await create(client, { rotateSecret })).signingSecret);
  expect([...secrets]).toEqual(Array(3).fill(expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/)));
});

test("§9.1 version is null on creation, and may be left out", async () => {
  await create(client, { version: null });
  await create(client, { version: undefined });
});

test("§9.1 a version on creation is refused: it would be meant as an edit", async () => {
  const { endpoint } = await create(client);
  const { body } = await client.post("/webhooks", settings({ version: endpoint.version })).expect(400);
  expect(body.errors).toMatchObject([{ pointer: "/version" }]);
});

test("§2.1/fields the saved fields are shown again unchanged", async () => {
  const url = "https://HOOKS.example.com:443/a/../b?x=%C3%A4&y=ü";
  const name = "Größe 東京 🚀";
  expect((await create(client, { url, name })).endpoint).toMatchObject({ url, name });
  expect((await client.get("/webhooks")).body[0]).toMatchObject({ url, name });
});

test("§4.1/body unknown fields of a request are ignored", async () => {
  const { endpoint } = await create(client, {
    id: "mine",
    consecutiveFailures: 4,
    deliveries: [1],
    organizationId: "other",
    color: "red",
  });
  expect(endpoint).toMatchObject({ consecutiveFailures: 0, deliveries: [] });
  expect(endpoint.id).not.toBe("mine");
});

test("§6/names each of the seven names can be subscribed to, and all at once", async () => {
  for (const event of EVENT_TYPES) {
    expect((await create(client, { events: [event] })).endpoint.events).toEqual([event]);
  }
  expect((await create(client, { events: [...EVENT_TYPES] })).endpoint.events).toEqual([...EVENT_TYPES]);
});

test("§2.1/events at least one event must be selected", async () => {
  const { body } = await client.post("/webhooks", settings({ events: [] })).expect(400);
  expect(body.errors).toMatchObject([{ pointer: "/events", code: "too_few" }]);
});

test.each(["*", "WorkItem*", "workitemcompleted", " WorkItemCompleted", "ProjectDeleted", ""])(
  "§2.1/events §6/names %p is no event: there are no wildcards, and names are exact",
  async (name) => {
    const { body } = await client.post("/webhooks", settings({ events: ["RiskCreated", name] })).expect(400);
    expect(body.errors).toMatchObject([{ pointer: "/events/1", code: "unknown_value" }]);
  },
);

test("§2.1/events an event that is named twice counts once", async () => {
  const events = ["RiskCreated", "ProjectCreated", "RiskCreated"];
  expect((await create(client, { events })).endpoint.events).toEqual(["RiskCreated", "ProjectCreated"]);
});

test("§7/400 §4.1/body every bad field is listed at once, with its fault, and nothing is saved", async () => {
  const url = `https://hooks.example.com/${"x".repeat(2_023)}`;
  const request = { url, enabled: null, events: ["*", "RiskCreated", null], version: 3 };
  const { body } = await client.post("/webhooks", request).expect(400);
  expect(body.code).toBe("invalid_request");
  const faults = body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`);
  expect(faults.sort()).toEqual([
    "/enabled wrong_type",
    "/events/0 unknown_value",
    "/events/2 wrong_type",
    "/name missing",
    "/url too_long",
    "/version wrong_type",
  ]);
  await client.get("/webhooks").expect(200, []);
});

test("an endpoint can't be saved with an address of DENIED_NETWORKS, or with one that NAT64_PREFIXES make private", async () => {
  for (const url of ["https://8.8.8.8/hooks", "https://[2a01:4f8:64::10.0.0.1]/hooks"]) {
    const { body } = await client.post("/webhooks", settings({ url })).expect(400);
    expect(body.errors).toMatchObject([{ code: "url_host_not_public" }]);
  }
  await create(client, { url: "https://8.8.4.4/hooks" });
});

test("§4.1/body the longest name and URL are accepted", async () => {
  await create(client, { name: "🚀".repeat(200) });
  await create(client, { url: `https://hooks.example.com/${"x".repeat(2_022)}` });
});

test("§2.3/kept saving without replacing keeps the secret and doesn't show it", async () => {
  const { endpoint } = await create(client);
  const before = await api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } });
  expect((await edit(client, endpoint, { name: "New" })).signingSecret).toBeNull();
  const after = await api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } });
  expect(after.sealedSecret).toBe(before.sealedSecret);
});

test("§4.1/edit §2.3/shown rotateSecret true makes a new secret, which the answer shows", async () => {
  const { endpoint, signingSecret } = await create(client);
  const edited = await edit(client, endpoint, { rotateSecret: true });
  expect(edited.signingSecret).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  expect(edited.signingSecret).not.toBe(signingSecret);
});

test("§4.1/edit an edit replaces every setting, and answers with a new version", async () => {
  const { endpoint } = await create(client);
  const changes = { name: "New", url: "https://new.example.com/x", enabled: false, events: ["RiskCreated"] };
  const { endpoint: edited } = await edit(client, endpoint, changes);
  expect(edited).toMatchObject(changes);
  expect(edited.version).not.toBe(endpoint.version);
  await client.get("/webhooks").expect(200, [edited]);
});

test("§4.1/body an edit needs every setting, and refuses bad ones as a creation does", async () => {
  const { endpoint } = await create(client);
  const { body } = await client.put(`/webhooks/${endpoint.id}`, { version: endpoint.version }).expect(400);
  const pointers = body.errors.map((error: { pointer: string }) => error.pointer);
  expect(pointers.sort()).toEqual(["/enabled", "/events", "/name", "/url"]);
  await client.get("/webhooks").expect(200, [endpoint]);
});

test("§4.1/list endpoints are in the order of their creation", async () => {
  const names = ["c", "a", "b", "A"];
  for (const name of names) await create(client, { name });
  const { body } = await client.get("/webhooks").expect(200);
  expect(body.map((endpoint: { name: string }) => endpoint.name)).toEqual(names);
});

test("§2.3/shown §7/secrets no secret is in any listing", async () => {
  const { endpoint, signingSecret } = await create(client);
  for (const path of ["/webhooks", "/webhooks/overview", `/webhooks/${endpoint.id}`]) {
    const { text } = await client.get(path).expect(200);
    expect(text).not.toContain(signingSecret);
    expect(text.toLowerCase()).not.toContain("secret");
  }
});

test("§7/secrets secrets are encrypted at rest", async () => {
  const { endpoint, signingSecret } = await create(client);
  const row = await api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } });
  expect(JSON.stringify(row, (_key, value) => (typeof value === "bigint" ? String(value) : value))).not.toContain(
    signingSecret,
  );
});

// SQL Server, .NET and many Java clients write UUIDs in capitals.
test("regression: a secret that is replaced under an id in capitals opens with the row's id", async () => {
  const { endpoint } = await create(client);
  const edited = await edit(client, { ...endpoint, id: endpoint.id.toUpperCase() }, { rotateSecret: true });
  const row = await api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } });
  expect(secretBox(SECRET_KEYS).open(row.sealedSecret, row.id)).toBe(edited.signingSecret);
  expect(edited.endpoint.id).toBe(row.id);
});

test.each(["nothing", "00000000-0000-0000-0000-000000000000", "%20", "..%2F..", "%00", "1'or'1'='1"])(
  "§7 the id %p is a 404",
  async (id) => {
    await client.get(`/webhooks/${id}`).expect(404);
    await client.put(`/webhooks/${id}`, settings({ version: "AAAAAAAAAAE=" })).expect(404);
    await client.delete(`/webhooks/${id}`, { version: "AAAAAAAAAAE=" }).expect(404);
  },
);
