import { beforeEach, describe, expect, test } from "@jest/globals";
import { ATTEMPTED_AT, states, storeDelivery, storeMany } from "../support/deliveries.ts";
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
    succeeded: { attemptCount: 1, statusCode: 204, succeeded: true, errorSummary: null },
    exhausted: { attemptCount: 5, statusCode: 410, succeeded: false, errorSummary: "the receiver answered 410" },
    expired: { attemptCount: 1, statusCode: 502, succeeded: false, errorSummary: null },
  };
  test.each(Object.keys(states) as (keyof typeof states)[])(
    "§2.2/fields §2.2/latest shows its latest attempt: %s",
    async (state) => {
      const endpoint = await newEndpoint();
      const id = await storeDelivery(api.prisma, endpoint, states[state]);
      const { id: businessEventId } = await api.prisma.businessEvent.findFirstOrThrow({ where: { organizationId } });
      const [{ deliveries }] = (await client.get("/webhooks").expect(200)).body;
      const attemptedAtUtc = state === "waiting" ? null : ATTEMPTED_AT.toISOString();
      expect(deliveries).toEqual([
        { id, businessEventId, eventType: "WorkItemCompleted", attemptedAtUtc, ...shown[state] },
      ]);
    },
  );

  test("§2.2/business-event a manual delivery has no businessEventId", async () => {
    await storeDelivery(api.prisma, await newEndpoint(), { body: "{}" });
    const [{ deliveries }] = (await client.get("/webhooks").expect(200)).body;
    expect(deliveries[0]).not.toHaveProperty("businessEventId");
  });
});

describe("recent deliveries", () => {
  test("§2.1/deliveries §8/recent the 200 newest of many endpoints are listed, however unevenly they are spread", async () => {
    const endpoints: { id: string; organizationId: string }[] = [];
    for (let index = 0; index < 12; index++) endpoints.push(await newEndpoint());
    // The first endpoint is quiet, the last one gets a hundred times as much.
    for (const [index, endpoint] of endpoints.entries()) await storeMany(api.prisma, endpoint, 5 + index ** 3);
    for (const endpoint of endpoints) await storeMany(api.prisma, endpoint, 10);
    const stored = await api.prisma.delivery.findMany({
      where: { organizationId },
      orderBy: { id: "desc" },
      select: { id: true, endpointId: true },
      take: 200,
    });
    const listed: { id: string; deliveries: { id: string }[] }[] = (await client.get("/webhooks").expect(200)).body;
    expect(listed.flatMap(({ deliveries }) => deliveries)).toHaveLength(200);
    for (const { id, deliveries } of listed) {
      expect(deliveries.map((delivery) => delivery.id)).toEqual(
        stored.filter(({ endpointId }) => endpointId === id).map((delivery) => delivery.id),
      );
    }
  });

  test("§2.1/deliveries the order is that of the events' times, also where a delivery was stored later", async () => {
    const endpoint = await newEndpoint();
    const now = Date.now();
    const recent = await storeDelivery(api.prisma, endpoint, { createdAt: new Date(now) });
    const caughtUp = await storeDelivery(api.prisma, endpoint, { createdAt: new Date(now - 3_600_000) });
    await api.prisma.delivery.update({ where: { id: caughtUp }, data: { createdAt: new Date(now + 60_000) } });
    expect((await client.get("/webhooks").expect(200)).body[0].deliveries).toMatchObject([
      { id: recent },
      { id: caughtUp },
    ]);
  });

  test("§2.1/deliveries other organizations' deliveries take none of the places", async () => {
    const endpoint = await newEndpoint();
    const id = await storeDelivery(api.prisma, endpoint);
    const other = await api.as({ organizationId: api.newOrganization() });
    const { endpoint: theirs } = await create(other);
    await storeMany(api.prisma, { id: theirs.id, organizationId: "organization-other" }, 250);
    expect((await client.get("/webhooks").expect(200)).body[0].deliveries).toMatchObject([{ id }]);
  });
});
