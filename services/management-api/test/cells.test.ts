import { bucketOf } from "@herald/common/broker/cell";
import { expect, test } from "@jest/globals";
import { settings, useApi } from "./support/use-api.ts";

const api = useApi({ settings: { INBOX_BUCKETS: "0-7", CELL: "a" } });

function organizationOf(isOurs: boolean): string {
  for (;;) {
    const organizationId = api.newOrganization();
    if (bucketOf(organizationId) < "8" === isOurs) return organizationId;
  }
}

test("an organization of a bucket that another Herald serves is told so, and nothing of it is stored", async () => {
  const client = await api.as({ organizationId: organizationOf(false) });
  for (const { status, body } of [
    await client.get("/webhooks"),
    await client.post("/webhooks", settings()),
    await client.post("/webhooks/0190a1b2-0000-7000-8000-0000000000aa/deliver", {
      eventType: "WorkItemCompleted",
      payloadJson: "{}",
    }),
  ]) {
    expect([status, body.code]).toEqual([421, "organization_elsewhere"]);
    expect(body.detail).toContain("gateway");
  }
  expect(await api.prisma.webhookEndpoint.count()).toBe(0);
});

test("an organization of a bucket that this Herald serves notices nothing", async () => {
  const client = await api.as({ organizationId: organizationOf(true) });
  expect((await client.post("/webhooks", settings())).status).toBe(200);
  expect((await client.get("/webhooks")).body).toHaveLength(1);
});

test("who lacks a permission is told that first", async () => {
  const client = await api.as({ organizationId: organizationOf(false), permissions: [] });
  expect((await client.get("/webhooks")).body.code).toBe("permission_missing");
});
