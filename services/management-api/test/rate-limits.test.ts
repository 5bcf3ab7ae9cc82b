import { describe, expect, test } from "@jest/globals";
import { create, settings } from "./support/endpoints.ts";
import { useApi } from "./support/use-api.ts";

const api = useApi({ settings: { WRITES_PER_MINUTE: "5", MANUAL_DELIVERIES_PER_MINUTE: "3" } });

describe("an organization that does too much", () => {
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

  test("requests that aren't allowed don't count for the rate limits", async () => {
    const viewer = await api.as({ organizationId: "watched", permissions: ["integrations.view"] });
    for (let writes = 0; writes < 10; writes++) await viewer.post("/webhooks", settings()).expect(403);
    await create(await api.as({ organizationId: "watched" }));
  });
});
