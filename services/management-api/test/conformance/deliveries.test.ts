import { beforeEach, describe, expect, test } from "@jest/globals";
import { ATTEMPTED_AT, states, storeDelivery } from "../support/deliveries.ts";
import { create } from "../support/endpoints.ts";
import { type Client, useApi } from "../support/use-api.ts";

const api = useApi();
let client: Client;
let organizationId: string;

beforeEach(async () => {
  organizationId = api.newOrganization();
  client = await api.as({ organizationId });
});

async function newEndpoint(): Promise<{ id: string; organizationId: string }> {
  return { id: (await create(client)).endpoint.id, organizationId };
}

describe("a delivery in the listing", () => {
  const shown = {
    waiting: { attemptCount: 0, statusCode: null, succeeded: false, errorSummary: null, attemptedAtUtc: null },
    failing: { attemptCount: 2, statusCode: 503, succeeded: false, errorSummary: "timed out after 15 s" },
    parked: { attemptCount: 1, statusCode: 500, succeeded: false, errorSummary: "the receiver answered 500" },
    succeeded: { attemptCount: 1, statusCode: 204, succeeded: true, errorSummary: null },
    exhausted: { attemptCount: 5, statusCode: 410, succeeded: false, errorSummary: "the receiver answered 410" },
  };
  test.each(Object.keys(states) as (keyof typeof states)[])(
    "§2.2/fields §2.2/latest shows its latest attempt: %s",
    async (state) => {
      const endpoint = await newEndpoint();
      const id = await storeDelivery(api.prisma, endpoint, states[state]);
      const { businessEventId } = await api.prisma.delivery.findUniqueOrThrow({ where: { id } });
      const [{ deliveries }] = (await client.get("/webhooks").expect(200)).body;
      const attemptedAtUtc = state === "waiting" ? null : ATTEMPTED_AT.toISOString();
      expect(deliveries).toEqual([
        { id, businessEventId, eventType: "WorkItemCompleted", attemptedAtUtc, ...shown[state] },
      ]);
    },
  );

  test("§2.2/business-event a manual delivery has no businessEventId", async () => {
    await storeDelivery(api.prisma, await newEndpoint(), { businessEventId: null, body: "{}" });
    const [{ deliveries }] = (await client.get("/webhooks").expect(200)).body;
    expect(deliveries[0]).not.toHaveProperty("businessEventId");
  });
});

describe("recent deliveries", () => {
  test("§2.1/deliveries §8/recent at most 200 across the whole organization, the newest, each with its endpoint", async () => {
    const [first, second] = [await newEndpoint(), await newEndpoint()];
    const ids: Record<string, string[]> = { [first.id]: [], [second.id]: [] };
    for (let index = 0; index < 210; index++) {
      const endpoint = index % 3 === 0 ? first : second;
      ids[endpoint.id]?.unshift(await storeDelivery(api.prisma, endpoint, states.succeeded));
    }
    const { body } = await client.get("/webhooks").expect(200);
    const listed = body.map((endpoint: { deliveries: { id: string }[] }) => endpoint.deliveries.map(({ id }) => id));
    expect(listed[0]).toEqual(ids[first.id]?.slice(0, 66));
    expect(listed[1]).toEqual(ids[second.id]?.slice(0, 134));
  });

  test("§2.1/deliveries a busy endpoint can take all of the 200", async () => {
    const [quiet, busy] = [await newEndpoint(), await newEndpoint()];
    await storeDelivery(api.prisma, quiet);
    await api.prisma.$executeRaw`
      insert into delivery (endpoint_id, organization_id, event_type, body, created_at)
      select ${busy.id}::uuid, ${organizationId}, 'RiskCreated', '{}', now() from generate_series(1, 200)`;
    const { body } = await client.get("/webhooks").expect(200);
    expect(body.map((endpoint: { deliveries: unknown[] }) => endpoint.deliveries.length)).toEqual([0, 200]);
  });

  test("§2.1/deliveries other organizations' deliveries take none of the places", async () => {
    const endpoint = await newEndpoint();
    const id = await storeDelivery(api.prisma, endpoint);
    const other = await api.as({ organizationId: api.newOrganization() });
    const { endpoint: theirs } = await create(other);
    await api.prisma.$executeRaw`
      insert into delivery (endpoint_id, organization_id, event_type, body, created_at)
      select ${theirs.id}::uuid, ${`organization-other`}, 'RiskCreated', '{}', now() from generate_series(1, 250)`;
    expect((await client.get("/webhooks").expect(200)).body[0].deliveries).toMatchObject([{ id }]);
  });
});
