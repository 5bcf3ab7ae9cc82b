import { afterEach, expect, test } from "@jest/globals";
import { create, settings, useApi } from "./support/use-api.ts";

let processes = 1;
afterEach(() => {
  processes = 1;
});
const api = useApi({
  settings: { READS_PER_MINUTE: "40", WRITES_PER_MINUTE: "5", MANUAL_DELIVERIES_PER_MINUTE: "3" },
  processes: () => processes,
});

test("an organization that writes too much gets 429 with the time to wait, while reads and other organizations go on", async () => {
  const client = await api.as({ organizationId: "busy" });
  for (let writes = 0; writes < 5; writes++) await create(client);
  const { body, headers } = await client.post("/webhooks", settings()).expect(429);
  expect(body).toMatchObject({ code: "too_many_requests", detail: expect.stringContaining("5 changes") });
  expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  expect(Number(headers["retry-after"])).toBeLessThanOrEqual(60);

  const [{ id, version }] = (await client.get("/webhooks").expect(200)).body;
  await client.put(`/webhooks/${id}`, settings({ version })).expect(429);
  await client.delete(`/webhooks/${id}`, { version }).expect(429);
  expect((await client.get("/webhooks")).body).toHaveLength(5);
  await create(await api.as({ organizationId: "calm" }));
});

test("an organization that makes too many manual deliveries gets 429, counted apart from its writes", async () => {
  const client = await api.as({ organizationId: "manual" });
  const { endpoint } = await create(client);
  const deliver = () =>
    client.post(`/webhooks/${endpoint.id}/deliver`, { eventType: "WorkItemCompleted", payloadJson: "{}" });
  for (let deliveries = 0; deliveries < 3; deliveries++) await deliver().expect(200);
  const { body } = await deliver().expect(429);
  expect(body.detail).toContain("3 manual deliveries");
  await create(client);
});

test("an organization that reads too much gets 429, while its changes and other organizations go on; expensive reads count ten times, and refused ones nothing", async () => {
  const client = await api.as({ organizationId: "reading" });
  const { endpoint } = await create(client);
  const left = async (path: string) => /r=(\d+)/.exec((await client.get(path)).headers.ratelimit ?? "")?.[1];
  expect(await left("/webhooks")).toBe("39");
  expect(await left("/webhooks/overview")).toBe("29");
  expect(await left(`/webhooks/${endpoint.id}/deliveries?limit=5`)).toBe("28");
  expect(await left(`/webhooks/${endpoint.id}/deliveries?outcome=failing`)).toBe("18");
  expect(await left(`/webhooks/${endpoint.id}`)).toBe("8");
  const { body, headers } = await client.get("/webhooks/overview").expect(429);
  expect(body).toMatchObject({ code: "too_many_requests", detail: expect.stringContaining("40 simple reads") });
  expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  expect(headers.ratelimit).toMatch(/^"reads";r=8;t=\d+$/);
  for (let reads = 0; reads < 8; reads++) await client.get("/webhooks").expect(200);
  const { headers: none } = await client.get("/webhooks").expect(429);
  expect(none.ratelimit).toMatch(/^"reads";r=0;t=\d+$/);
  await client.get("/session").expect(200);
  await create(client);
  await (await api.as({ organizationId: "calm" })).get("/webhooks").expect(200);
});

test("answers that are counted say what is left of the allowance, also those that refuse the request", async () => {
  const client = await api.as({ organizationId: "counted" });
  const { headers } = await client.post("/webhooks", settings()).expect(200);
  expect(headers["ratelimit-policy"]).toBe('"writes";q=5;w=60');
  expect(headers.ratelimit).toMatch(/^"writes";r=4;t=\d+$/);
  expect((await client.post("/webhooks", {}).expect(400)).headers.ratelimit).toMatch(/^"writes";r=3;/);
  expect((await client.get("/session").expect(200)).headers.ratelimit).toBeUndefined();
});

test("each of several processes gives its share of an allowance, at once and rounded up, and says what is left of the whole", async () => {
  processes = 2;
  const client = await api.as({ organizationId: "shared" });
  for (const left of [4, 2]) {
    const { headers } = await client.post("/webhooks", settings()).expect(200);
    expect(headers["ratelimit-policy"]).toBe('"writes";q=5;w=60');
    expect(headers.ratelimit).toMatch(new RegExp(`^"writes";r=${left};`));
  }
  await create(client);
  const { body } = await client.post("/webhooks", settings()).expect(429);
  expect(body.detail).toContain(
    "may make 5 changes in a minute, 3 by each of 2 processes of the API, and has made them",
  );
  // The other one has ended.
  processes = 1;
  await create(client);
  await create(client);
  await client.post("/webhooks", settings()).expect(429);
});

test("an expensive read, which counts ten times, fits into a process's share however many processes there are", async () => {
  processes = 40;
  const client = await api.as({ organizationId: "many" });
  await client.get("/webhooks/overview").expect(200);
  await client.get("/webhooks").expect(429);
  await create(client);
  await client.post("/webhooks", settings()).expect(429);
});

test("requests that aren't allowed don't count for the rate limits", async () => {
  const viewer = await api.as({ organizationId: "watched", permissions: ["integrations.view"] });
  for (let writes = 0; writes < 10; writes++) await viewer.post("/webhooks", settings()).expect(403);
  await create(await api.as({ organizationId: "watched" }));
});
