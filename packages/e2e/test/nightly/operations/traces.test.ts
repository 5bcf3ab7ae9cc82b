import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { type CollectedSpan, startCollector } from "@herald/dev/harness/otlp-collector";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, beforeEach, expect, test } from "@jest/globals";
import { apiClient } from "../../../src/herald/api-client.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

const collector = await startCollector();
afterAll(() => collector.close());
beforeEach(() => {
  collector.spans.length = 0;
});

const environment = useTestEnvironment({ settings: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/` } });

const EMITTER_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const EMITTER_SPAN = "00f067aa0ba902b7";

const named = (name: string) => collector.spans.filter((span) => span.name === name);
const processing = () => named(`process ${environment.broker.namespace}.events`);
const attempts = () => named("POST");
const traceparentOf = ({ traceId, spanId }: CollectedSpan) => `00-${traceId}-${spanId}-01`;

test("an event's trace goes from its emitter through the publisher to the attempt; its retry links to it", async () => {
  const { api, broker, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: `${receiver.url}/secret-path` });
  receiver.answerWith({ status: 500 });
  const event = environment.event();
  await emitter.emit(event, { traceparent: `00-${EMITTER_TRACE}-${EMITTER_SPAN}-01` });
  await eventually(() => expect(receiver.requests).toHaveLength(1));
  await environment.settled();
  receiver.answerWith({ status: 204 });
  await environment.advanceToNextAttempts(endpoint.id);
  await eventually(() => expect(receiver.requests).toHaveLength(2));
  await eventually(() => {
    expect(attempts()).toHaveLength(2);
    expect(processing()).toHaveLength(1);
  });

  const [processed] = processing();
  expect(processed).toMatchObject({
    service: "herald-publisher",
    kind: 5,
    traceId: EMITTER_TRACE,
    parentSpanId: EMITTER_SPAN,
    resource: { "service.namespace": broker.namespace, "service.instance.id": expect.any(String) },
    attributes: {
      "messaging.system": "rabbitmq",
      "messaging.operation.type": "process",
      "messaging.operation.name": "process",
      "messaging.destination.template": `${broker.namespace}.events`,
      "messaging.destination.name": expect.stringMatching(/\.events:.*\.events\.inbox\.[0-9a-f]$/),
      "messaging.message.id": event.id,
      "herald.organization.id": api.organizationId,
    },
  });
  const resentTimes = (times: number | undefined) =>
    attempts().find(({ attributes }) => attributes["http.request.resend_count"] === times) as CollectedSpan;

  const first = resentTimes(undefined);
  expect(first).toMatchObject({
    service: "herald-dispatcher",
    kind: 3,
    traceId: EMITTER_TRACE,
    parentSpanId: processed?.spanId,
    links: [],
    error: "",
    attributes: {
      "http.request.method": "POST",
      "http.response.status_code": 500,
      "error.type": "500",
      "url.scheme": "https",
      "server.address": "127.0.0.1",
      "server.port": receiver.port,
      "herald.endpoint.id": endpoint.id,
    },
  });

  const retry = resentTimes(1);
  expect(retry.parentSpanId || undefined).toBeUndefined();
  expect(retry.traceId).not.toBe(EMITTER_TRACE);
  expect(retry.links).toMatchObject([{ traceId: EMITTER_TRACE, spanId: processed?.spanId }]);
  expect(retry).toMatchObject({ attributes: { "http.response.status_code": 204 } });
  expect(retry.error).toBeUndefined();

  // The receiver's `traceparent` continues the attempt's own span.
  expect(receiver.requests.map(({ headers }) => headers.traceparent)).toEqual([first, retry].map(traceparentOf));
  expect(JSON.stringify(collector.spans)).not.toContain("secret-path");
});

test("an attempt without an answer has the kind of its failure, and no status", async () => {
  const { api, receiver, emitter } = environment;
  await api.create({ url: receiver.url });
  receiver.answerWith({ fault: "reset" });
  await emitter.emit(environment.event());
  await eventually(() => expect(attempts()).toHaveLength(1));
  const [{ attributes, error } = { attributes: {} }] = attempts();
  expect(attributes).toMatchObject({ "error.type": "connection_reset" });
  expect(attributes).not.toHaveProperty("http.response.status_code");
  expect(error).not.toBe("");
});

test("a manual delivery's attempt is a part of its request's trace, which continues its caller's", async () => {
  const { api, receiver, herald } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  const headers = { traceparent: `00-${EMITTER_TRACE}-${EMITTER_SPAN}-01` };
  await (await apiClient(herald.apiUrl, api.organizationId, { headers })).deliver(
    endpoint.id,
    "WorkItemCompleted",
    "{}",
  );
  const route = "/api/organization/integration-operations/webhooks/{id}/deliver";
  await eventually(() => {
    expect(named(`POST ${route}`)).toHaveLength(1);
    expect(attempts()).toHaveLength(1);
  });
  const [request] = named(`POST ${route}`);
  expect(request).toMatchObject({
    ...{ service: "herald-management-api", kind: 2, traceId: EMITTER_TRACE, parentSpanId: EMITTER_SPAN },
    attributes: { "http.route": route, "http.response.status_code": 200, "url.scheme": "http" },
  });
  const [attempt] = attempts() as [CollectedSpan];
  expect(attempt).toMatchObject({ traceId: EMITTER_TRACE, parentSpanId: request?.spanId });
  expect(receiver.requests[0]?.headers.traceparent).toBe(traceparentOf(attempt));
});

test("without a collector nothing of OpenTelemetry's SDK is loaded", () => {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    await import(${JSON.stringify(join(projectFolder(), "packages/cli/dist/serve/start-serve.js"))});
    console.log(JSON.stringify(loaded));`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  const loaded = JSON.parse(printed) as string[];
  expect(loaded.some((url) => url.includes("/service/open-process.js"))).toBe(true);
  // prom-client loads the API, which does nothing by itself.
  expect(loaded.filter((url) => /@opentelemetry\/(?!api\/)/.test(url))).toEqual([]);
});
