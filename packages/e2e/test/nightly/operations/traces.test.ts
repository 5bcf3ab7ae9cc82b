import { eventually } from "@herald/dev/harness/eventually";
import { afterAll, beforeEach, expect, test } from "@jest/globals";
import { useTestEnvironment } from "../../journeys/test-environment.ts";
import { type CollectedSpan, startCollector } from "./collector.ts";

const collector = await startCollector();
afterAll(() => collector.close());
beforeEach(() => {
  collector.spans.length = 0;
});

const environment = useTestEnvironment({
  settings: {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=herald",
  },
});

const EMITTER_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const EMITTER_SPAN = "00f067aa0ba902b7";

const named = (name: string) => collector.spans.filter((span) => span.name === name);
const traceparentOf = ({ traceId, spanId }: CollectedSpan) => `00-${traceId}-${spanId}-01`;

test("an event's trace goes from its emitter through fan-out to the attempt; its retry links to it", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  await emitter.emit(environment.event(), { traceparent: `00-${EMITTER_TRACE}-${EMITTER_SPAN}-01` });
  await eventually(() => expect(receiver.requests).toHaveLength(1));
  await environment.settled();
  receiver.answerWith({ status: 204 });
  await environment.advanceToNextAttempts(endpoint.id);
  await eventually(() => expect(receiver.requests).toHaveLength(2));
  await eventually(() => {
    expect(named("attempt")).toHaveLength(2);
    expect(named("fan-out")).toHaveLength(1);
  });

  const [fanOut] = named("fan-out");
  expect(fanOut).toMatchObject({ service: "herald-publisher", traceId: EMITTER_TRACE, parentSpanId: EMITTER_SPAN });
  const attemptOf = (number: number) =>
    named("attempt").find(({ attributes }) => attributes["herald.attempt.number"] === number) as CollectedSpan;

  const first = attemptOf(1);
  expect(first).toMatchObject({
    service: "herald-dispatcher",
    traceId: EMITTER_TRACE,
    parentSpanId: fanOut?.spanId,
    links: [],
    error: "receiver answered 500",
    attributes: {
      "herald.endpoint.id": endpoint.id,
      "herald.attempt.status_code": 500,
      "server.address": new URL(receiver.url).hostname,
    },
  });

  const retry = attemptOf(2);
  expect(retry.parentSpanId).toBeUndefined();
  expect(retry.traceId).not.toBe(EMITTER_TRACE);
  expect(retry.links).toMatchObject([{ traceId: EMITTER_TRACE, spanId: fanOut?.spanId }]);
  expect(retry.error).toBeUndefined();

  // What the receiver was given continues the attempt's own span.
  expect(receiver.requests.map(({ headers }) => headers.traceparent)).toEqual([first, retry].map(traceparentOf));
  expect(collector.headers()).toMatchObject({ "x-tenant": "herald" });
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
  await eventually(() => expect(named("fan-out")).toHaveLength(1));
  expect(collector.spans.filter(({ traceId }) => traceId === EMITTER_TRACE)).toEqual([]);
});

test("an event without a trace begins one", async () => {
  const { api, receiver, emitter } = environment;
  await api.create({ url: receiver.url });
  await emitter.emit(environment.event());
  await eventually(() => {
    expect(named("fan-out")).toHaveLength(1);
    expect(named("attempt")).toHaveLength(1);
  });
  const [fanOut] = named("fan-out");
  expect(fanOut?.parentSpanId).toBeUndefined();
  expect(named("attempt")[0]?.traceId).toBe(fanOut?.traceId);
});
