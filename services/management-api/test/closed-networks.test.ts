import { expect, test } from "@jest/globals";
import { settings, useApi } from "./support/use-api.ts";

const api = useApi({ settings: { DENIED_NETWORKS: "8.8.8.0/24", NAT64_PREFIXES: "2a01:4f8:64::/96" } });

test("an endpoint can't be saved with an address of DENIED_NETWORKS, or with one that NAT64_PREFIXES make private", async () => {
  const client = await api.as({ organizationId: api.newOrganization() });
  for (const url of ["https://8.8.8.8/hooks", "https://[2a01:4f8:64::10.0.0.1]/hooks"]) {
    const { status, body } = await client.post("/webhooks", settings({ url }));
    expect([status, body.errors]).toEqual([400, [expect.objectContaining({ code: "url_host_not_public" })]]);
  }
  expect((await client.post("/webhooks", settings({ url: "https://8.8.4.4/hooks" }))).status).toBe(200);
});
