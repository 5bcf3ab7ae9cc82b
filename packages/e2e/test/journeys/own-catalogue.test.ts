import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import type { EventTypeInfo } from "@herald/contracts";
import { newEvent } from "@herald/emitter";
import { readEvent } from "@herald/receiver";
import { afterAll, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import { adminToken } from "../../src/herald/api-client.ts";
import { OWN_CATALOGUE, ownCatalogueFile } from "../../src/herald/own-catalogue.ts";
import { useTestEnvironment } from "./test-environment.ts";

// An adopter has an eighth event: by a file, and nothing else.

const EVENT_TYPES_FILE = ownCatalogueFile();
const environment = useTestEnvironment({ settings: { EVENT_TYPES_FILE } });
afterAll(() => rmSync(dirname(EVENT_TYPES_FILE), { recursive: true }));

interface InvoicePaid {
  id: string;
  type: "invoice.paid";
  data: { total: string };
}

const paid = (data: Record<string, unknown> = { total: "119.00" }) =>
  newEvent<InvoicePaid["type"]>({
    organizationId: environment.api.organizationId,
    type: "invoice.paid",
    entityType: "Invoice",
    entityId: randomUUID(),
    occurredAtUtc: environment.clock.now().toISOString(),
    data,
  });

async function read<T>(path: string): Promise<T> {
  const { api, herald } = environment;
  const headers = { authorization: `Bearer ${await adminToken(api.organizationId)}` };
  const response = await fetch(`${herald.apiUrl}${path}`, { headers });
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.json()) as T;
}

test("an event of the eighth type is delivered to its subscribers, and can be delivered by hand", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: receiver.url, events: ["invoice.paid"] });
  const event = paid();
  await emitter.emit(event);
  await emitter.emit(environment.event());
  const [request] = await receiver.received(1);
  expect(request?.headers["x-service-event"]).toBe("invoice.paid");
  const received = readEvent<InvoicePaid>(JSON.parse(request?.body.toString() ?? "null"), ["invoice.paid"]);
  expect(received).toMatchObject({ id: event.id, data: { total: "119.00" } });
  const byHand = await api.deliver(endpoint.id, "invoice.paid", "{}");
  expect(byHand).toMatchObject({ eventType: "invoice.paid", succeeded: true });
  await environment.settled();
  expect(receiver.requests).toHaveLength(2);
});

test("API, page, OpenAPI and schemas of the running Herald know it", async () => {
  const types = await read<EventTypeInfo[]>("/api/organization/integration-operations/event-types");
  expect(types.map(({ name }) => name)).toEqual(Object.keys(OWN_CATALOGUE));
  const info = types.at(-1) as EventTypeInfo;
  expect(info).toMatchObject({
    entityType: "Invoice",
    emittedWhen: "an invoice is paid in full",
    remark: "Partial payments don't count.",
  });
  expect(JSON.parse(info.sample)).toMatchObject({ type: "invoice.paid", data: OWN_CATALOGUE["invoice.paid"].sample });

  interface OpenApi {
    components: { schemas: { EventType: { "x-extensible-enum": string[] } } };
    webhooks: Record<string, { post: { requestBody: { content: { "application/json": { example: object } } } } }>;
  }
  const openApi = await read<OpenApi>("/openapi.json");
  expect(openApi.components.schemas.EventType["x-extensible-enum"]).toEqual(Object.keys(OWN_CATALOGUE));
  const request = openApi.webhooks["invoice.paid"]?.post.requestBody.content["application/json"];
  expect(request?.example).toEqual(JSON.parse(info.sample));

  const schema = await read<object>("/schemas/events/invoice.paid.json");
  const keeps = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: false }).compile(schema);
  expect(keeps(paid())).toBe(true);
  expect(keeps(paid({ total: "119" }))).toBe(false);
});
