import { describe, expect, test } from "@jest/globals";
import { useApi } from "../support/use-api.ts";
import { create, settings } from "../support/webhooks.ts";

const api = useApi();

describe("listing", () => {
  test("§4.1 an organization without endpoints has an empty list", async () => {
    const client = await api.as({ organizationId: api.newOrganization() });
    await client.get("/webhooks").expect(200, []);
  });

  test("§2.1 an endpoint has exactly these fields", async () => {
    const client = await api.as({ organizationId: api.newOrganization() });
    const { endpoint, signingSecret } = await create(client);
    expect(endpoint).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Billing",
      url: "https://hooks.example.com/herald",
      enabled: true,
      consecutiveFailures: 0,
      events: ["WorkItemCompleted"],
      deliveries: [],
      version: "AAAAAAAAAAE=",
    });
    expect(signingSecret).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    await client.get("/webhooks").expect(200, [endpoint]);
    await client.post("/webhooks", settings({ name: "" })).expect(400);
  });
});
