import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { type CollectedSpan, startCollector } from "@herald/dev/harness/otlp-collector";
import { askForPython } from "@herald/dev/harness/stack-client";
import { routingKey } from "@herald/emitter";
import { afterAll, beforeEach, expect, test } from "@jest/globals";
import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { BUILD_TIMEOUT_MS, output } from "../../../src/child.ts";
import { apiClient } from "../../../src/herald/api-client.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";
import { startOtelCollector } from "./otel-collector.ts";

// Everything goes through OpenTelemetry's own collector, which takes nothing that breaks its protocol.
const collector = await startCollector();
const between = await startOtelCollector(collector.url);
afterAll(async () => {
  await between.stop();
  await collector.close();
});
beforeEach(() => {
  collector.spans.length = 0;
});

const environment = useTestEnvironment({
  settings: {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${between.url}/`,
  },
});

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

  // What the receiver was given continues the attempt's own span.
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

test("what the emitter does not record is not recorded, nor are its retries, and the receiver is told so", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  await emitter.emit(environment.event(), { traceparent: `00-${EMITTER_TRACE}-${EMITTER_SPAN}-00` });
  await eventually(() => expect(receiver.requests).toHaveLength(1));
  await environment.settled();
  await environment.advanceToNextAttempts(endpoint.id);
  await eventually(() => expect(receiver.requests).toHaveLength(2));
  await environment.settled();
  for (const { headers } of receiver.requests) expect(headers.traceparent).toMatch(/-00$/);
  expect(receiver.requests[0]?.headers.traceparent).toContain(EMITTER_TRACE);

  // A recorded one behind it shows that all there was has been exported.
  await emitter.emit(environment.event());
  await eventually(() => expect(processing()).toHaveLength(1));
  expect(collector.spans.filter(({ traceId }) => traceId === EMITTER_TRACE)).toEqual([]);
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

/**
 * A product service and a receiver in Python. Each line of the standard input is an event that it emits within a span; each webhook that it
 * receives is a span. It prints the receiver's port.
 */
const PYTHON = `
import os, ssl, sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
import pika
from opentelemetry import propagate
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanKind

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("python")


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        caller = propagate.extract({name.lower(): value for name, value in self.headers.items()})
        with tracer.start_as_current_span("receive", context=caller, kind=SpanKind.SERVER):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Receiver)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("cert.pem", "key.pem")
server.socket = tls.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever).start()
print(server.server_port, flush=True)

for line in sys.stdin:
    routing_key, event = line.split(" ", 1)
    connection = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
    channel = connection.channel()
    channel.confirm_delivery()
    with tracer.start_as_current_span("emit", kind=SpanKind.PRODUCER):
        headers = {}
        propagate.inject(headers)
        properties = pika.BasicProperties(content_type="application/json", delivery_mode=2, headers=headers)
        channel.basic_publish(os.environ["EXCHANGE"], routing_key, event.strip(), properties, mandatory=True)
    connection.close()
server.shutdown()
provider.shutdown()
`;

/** The spans of one trace, from its first to the one that no other follows. */
function chainOf(traceId: string): string[] {
  const spans = collector.spans.filter((span) => span.traceId === traceId);
  const chain: string[] = [];
  for (let next = spans.find((span) => !span.parentSpanId); next; ) {
    chain.push(`${next.service}: ${next.name}`);
    const { spanId } = next;
    next = spans.find(({ parentSpanId }) => parentSpanId === spanId);
  }
  expect(chain).toHaveLength(spans.length);
  return chain;
}

test(
  "one trace goes from a product's request to the receiver's, of a product in Node and in Python, and a receiver in Python",
  async () => {
    const { api, broker, emitter } = environment;
    const folder = mkdtempSync(join(tmpdir(), "herald-traces-"));
    const { cert, key } = (await certificates()).trusted;
    writeFileSync(join(folder, "cert.pem"), cert);
    writeFileSync(join(folder, "key.pem"), key);
    const { executable } = await askForPython();
    const install = "-m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target library";
    const packages = ["opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2", "pika==1.3.2"];
    await output(executable, [...install.split(" "), ...packages], folder);
    const python = spawn(executable, ["-B", "-c", PYTHON], {
      cwd: folder,
      stdio: ["pipe", "pipe", "inherit"],
      env: {
        ...process.env,
        PYTHONPATH: "library",
        AMQP_URL: broker.url,
        EXCHANGE: `${broker.namespace}.events`,
        OTEL_SERVICE_NAME: "python",
        OTEL_EXPORTER_OTLP_ENDPOINT: between.url,
      },
    });
    const ended = once(python, "exit");
    const product = new TracerProvider({
      resource: resourceFromAttributes({ "service.name": "node" }),
      spanProcessors: [
        new SimpleSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${between.url}/v1/traces` }) }),
      ],
    });
    context.setGlobalContextManager(new AsyncLocalStorageContextManager());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    try {
      const [port] = await once(createInterface(python.stdout), "line");
      await api.create({ url: `https://127.0.0.1:${port}/hooks` });

      const request = product.getTracer("node").startSpan("emit", { kind: SpanKind.SERVER });
      await context.with(trace.setSpan(context.active(), request), () => emitter.emit(environment.event()));
      request.end();
      const event = environment.event();
      python.stdin.write(`${routingKey(event)} ${JSON.stringify(event)}\n`);

      await eventually(() => expect(named("receive")).toHaveLength(2), { timeoutMs: 30_000 });
      await eventually(() => {
        for (const service of ["node", "python"]) {
          const begun = named("emit").find((span) => span.service === service);
          expect(chainOf(begun?.traceId ?? "")).toEqual([
            `${service}: emit`,
            `herald-publisher: process ${broker.namespace}.events`,
            "herald-dispatcher: POST",
            "python: receive",
          ]);
        }
      });
    } finally {
      context.disable();
      propagation.disable();
      await product.shutdown();
      python.stdin.end();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    }
  },
  BUILD_TIMEOUT_MS,
);
