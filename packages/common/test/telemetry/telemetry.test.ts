import { startCollector } from "@herald/dev/harness/otlp-collector";
import { afterAll, afterEach, beforeEach, expect, test } from "@jest/globals";
import { serviceSettings } from "../../src/config/common-settings.ts";
import { readConfig } from "../../src/config/read-config.ts";
import type { LogFields } from "../../src/telemetry/log.ts";
import { heraldVersion } from "../../src/telemetry/metrics.ts";
import { openTelemetryTracing } from "../../src/telemetry/open-telemetry.ts";

const collector = await startCollector();
afterAll(() => collector.close());
beforeEach(() => {
  collector.spans.length = 0;
});
const started: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.stop()));
});

const ID = "0193a1b2-0000-7000-8000-000000000001";
const warnings: LogFields[] = [];
const ignored = () => undefined;
const log = {
  ...{ debug: ignored, info: ignored, error: ignored, isDebug: false },
  warn: (message: string, fields: LogFields = {}) => void warnings.push({ message, ...fields }),
};

/** The source of a service's traces with these settings. */
function source(settings: Record<string, string> = {}) {
  const needed = { DATABASE_URL: "postgres://127.0.0.1/none", AMQP_URL: "amqp://127.0.0.1", HERALD_ENV: "development" };
  const config = readConfig(serviceSettings, {
    ...needed,
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    ...settings,
  });
  return { service: "publisher", id: ID, config, log };
}

function tracingOf(settings?: Record<string, string>) {
  const tracing = openTelemetryTracing(source(settings));
  started.push(tracing);
  return tracing;
}

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("a span says whose it is, as Herald does by itself and as the operator adds", async () => {
  process.env.OTEL_RESOURCE_ATTRIBUTES = "deployment.environment.name=prod, team=a%2Cb, service.name=unused";
  process.env.OTEL_SERVICE_NAME = "webhooks";
  const tracing = tracingOf({
    OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=herald, authorization=Basic%20eA==",
  });
  delete process.env.OTEL_RESOURCE_ATTRIBUTES;
  delete process.env.OTEL_SERVICE_NAME;
  const span = tracing.startSpan("POST", { kind: "client", parent: `00-${TRACE}-${SPAN}-01`, attributes: { a: 1 } });
  span.end({ name: "POST /x", errorType: "timed_out", error: "no answer", attributes: { b: "2" } });
  await tracing.stop();
  expect(collector.spans).toMatchObject([
    {
      ...{ name: "POST /x", kind: 3, traceId: TRACE, parentSpanId: SPAN, error: "no answer" },
      attributes: { a: 1, b: "2", "error.type": "timed_out" },
      resource: {
        "service.name": "webhooks",
        "service.namespace": "herald",
        "service.version": heraldVersion(),
        "service.instance.id": ID,
        "deployment.environment.name": "prod",
        team: "a,b",
      },
    },
  ]);
  expect(span.traceparent).toBe(`00-${TRACE}-${collector.spans[0]?.spanId}-01`);
  expect(collector.headers()).toMatchObject({ "x-tenant": "herald", authorization: "Basic eA==" });
});

test.each([
  ["parentbased_always_on", "1", ["begun", "recorded parent", "recorded link"]],
  ["parentbased_always_off", "1", ["recorded parent", "recorded link"]],
  ["parentbased_traceidratio", "0", ["recorded parent", "recorded link"]],
  ["parentbased_traceidratio", "1", ["begun", "recorded parent", "recorded link"]],
  ["always_on", "0", ["begun", "recorded parent", "recorded link", "unrecorded parent", "unrecorded link"]],
  ["always_off", "1", []],
  ["traceidratio", "0", []],
])("OTEL_TRACES_SAMPLER %s of %s records %p", async (name, share, expected) => {
  const tracing = tracingOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share });
  const [on, off] = ["01", "00"].map((flags) => `00-${TRACE}-${SPAN}-${flags}`);
  const origins = {
    begun: {},
    "recorded parent": { parent: on },
    "recorded link": { link: on },
    "unrecorded parent": { parent: off },
    "unrecorded link": { link: off },
  };
  for (const [origin, of] of Object.entries(origins)) {
    const span = tracing.startSpan(origin, { kind: "consumer", ...of, attributes: {} });
    // What follows the span learns from its traceparent whether it is recorded.
    expect(span.traceparent.endsWith("-01")).toBe(expected.includes(origin));
    span.end();
  }
  await tracing.stop();
  expect(collector.spans.map((span) => span.name)).toEqual(expected);
});

test("a collector that is away is a log line, and no more", async () => {
  warnings.length = 0;
  const tracing = tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
  tracing.startSpan("lost", { kind: "client", attributes: {} }).end();
  await tracing.stop();
  expect(warnings).toMatchObject([{ message: expect.stringContaining("OTEL_EXPORTER_OTLP_ENDPOINT") }]);
});
