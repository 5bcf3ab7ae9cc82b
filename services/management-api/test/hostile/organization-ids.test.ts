import { expect, test } from "@jest/globals";
import { create, settings, useApi } from "../support/use-api.ts";

const api = useApi();

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
  expect(await api.prisma.webhookEndpoint.count()).toBe(1);
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
