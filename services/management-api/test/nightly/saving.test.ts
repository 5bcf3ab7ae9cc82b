import { EVENT_TYPES, type SaveWebhookRequest } from "@herald/contracts";
import { beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Client, create, useApi } from "../support/use-api.ts";

const RUNS = 300;
const api = useApi({ settings: { MAX_ENDPOINTS: "10000" } });
let client: Client;

beforeAll(async () => {
  client = await api.as({ organizationId: api.newOrganization() });
});

const good = {
  name: fc.string({ unit: "binary" }),
  url: fc.oneof(fc.webUrl({ validSchemes: ["https"], withQueryParameters: true }), fc.webUrl()),
  enabled: fc.boolean(),
  events: fc.subarray([...EVENT_TYPES], { minLength: 1 }),
};
const valid = fc.record({ ...good, rotateSecret: fc.constant(false), version: fc.constant(null) });
/** One field is something else, or is not there. */
const broken = fc
  .tuple(valid, fc.constantFrom(...Object.keys(good)), fc.jsonValue({ maxDepth: 1 }))
  .map(([request, field, value]) => ({ ...request, [field]: value ?? undefined }));

test("§2.1 an accepted endpoint is shown again unchanged; a refused one says why, and saves nothing", async () => {
  const answers = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.oneof(valid, broken), async (body) => {
      const request = body as SaveWebhookRequest;
      const count = await api.prisma.webhookEndpoint.count();
      const response = await client.post("/webhooks", JSON.parse(JSON.stringify(request)));
      answers.add(response.status);
      if (response.status === 200) {
        const { name, url, enabled } = request;
        expect(response.body.endpoint).toMatchObject({ name, url, enabled, events: [...new Set(request.events)] });
        const row = await api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: response.body.endpoint.id } });
        expect(row).toMatchObject({ name, url, enabled });
      } else {
        expect(response.status).toBe(400);
        expect(response.body.errors.length).toBeGreaterThan(0);
        expect(await api.prisma.webhookEndpoint.count()).toBe(count);
      }
    }),
    { numRuns: RUNS },
  );
  expect([...answers].sort()).toEqual([200, 400]);
}, 120_000);

test("§4.1.4 any JSON text that is accepted is stored character for character", async () => {
  const { endpoint } = await create(client);
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.json(),
        fc.json().map((text) => ` ${text}\n`),
        fc.string(),
      ),
      async (payloadJson) => {
        const request = { eventType: "WorkItemCompleted", payloadJson };
        const response = await client.post(`/webhooks/${endpoint.id}/deliver`, request);
        if (response.status === 200) {
          const row = await api.prisma.delivery.findUniqueOrThrow({ where: { id: response.body.id } });
          expect(row.body).toBe(payloadJson);
        } else {
          expect(response.status).toBe(400);
          expect(() => JSON.parse(payloadJson)).toThrow();
        }
      },
    ),
    { numRuns: RUNS },
  );
}, 120_000);
