import type { SpanEnd, SpanOptions } from "@herald/common/telemetry/tracing";
import { beforeEach, expect, test } from "@jest/globals";
import type { TellOwner } from "../src/endpoints/tell-owner.ts";
import { create, useApi } from "./support/use-api.ts";

const GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OWN = "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01";
const API = "/herald/api/organization/integration-operations";

const spans: { name: string; options: SpanOptions; ended: SpanEnd[] }[] = [];
const asked: (string | null)[] = [];
const tellOwner: TellOwner = async (message) => {
  if (message.kind === "manual") asked.push(message.traceparent);
  return false;
};
const traced = useApi({
  settings: { BASE_PATH: "/herald", PUBLIC_ORIGIN: "https://herald.example.com" },
  tellOwner,
  tracing: {
    startSpan(name, options) {
      const ended: SpanEnd[] = [];
      spans.push({ name, options, ended });
      return { traceparent: OWN, end: (end = {}) => void ended.push(end) };
    },
    stop: async () => {},
  },
});
const untraced = useApi({ tellOwner });

beforeEach(() => {
  spans.length = 0;
  asked.length = 0;
});

test("a request is a span that continues its caller's trace, and is named after the route", async () => {
  const organizationId = traced.newOrganization();
  const client = await traced.as({ organizationId });
  const { endpoint } = await create(client);
  const deliver = client.post(`/webhooks/${endpoint.id}/deliver`, {
    eventType: "WorkItemCompleted",
    payloadJson: "{}",
  });
  const { headers } = await deliver.set("traceparent", GIVEN).expect(200);
  expect(asked).toEqual([OWN]);
  expect(spans).toHaveLength(2);
  const path = `${API}/webhooks/${endpoint.id}/deliver`;
  expect(spans[1]).toEqual({
    name: "POST",
    options: {
      ...{ kind: "server", parent: GIVEN },
      attributes: { "http.request.method": "POST", "url.scheme": "https", "url.path": path },
    },
    ended: [
      {
        name: `POST ${API}/webhooks/{id}/deliver`,
        attributes: {
          "http.route": `${API}/webhooks/{id}/deliver`,
          "http.response.status_code": 200,
          "herald.request.id": headers["x-request-id"],
          "herald.organization.id": organizationId,
        },
      },
    ],
  });
});

test("a request that leads nowhere has no route, and what the caller did wrong is no failure of the span", async () => {
  await fetch(`${traced.origin}/nowhere?token=secret`, { method: "PROPFIND", headers: { connection: "close" } });
  expect(spans).toMatchObject([
    {
      name: "HTTP",
      options: { parent: undefined, attributes: { "http.request.method": "_OTHER", "url.path": "/nowhere" } },
      ended: [{ attributes: { "http.response.status_code": 404, "herald.problem.code": "route_not_found" } }],
    },
  ]);
  expect(spans[0]?.ended[0]).not.toHaveProperty("errorType");
});

test("if nothing is traced, a manual delivery is given the context of its caller, if it is one", async () => {
  const client = await untraced.as({ organizationId: untraced.newOrganization() });
  const { endpoint } = await create(client);
  for (const given of [GIVEN, "nonsense"]) {
    const body = { eventType: "WorkItemCompleted", payloadJson: "{}" };
    await client.post(`/webhooks/${endpoint.id}/deliver`, body).set("traceparent", given).expect(200);
  }
  expect(asked).toEqual([GIVEN, null]);
});
