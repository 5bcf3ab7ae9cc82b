import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// Nothing listens there.
const away = useTestEnvironment({ settings: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" } });
const off = useTestEnvironment();

test("a collector that is away holds up no delivery, and no stop", async () => {
  const { api, receiver, emitter, herald } = away;
  await api.create({ url: receiver.url });
  await emitter.emit(away.event());
  await eventually(() => expect(receiver.requests).toHaveLength(1));
  await away.settled();
  await herald.stop();
});

test("without a collector receivers get the emitter's trace context, on each attempt", async () => {
  const { api, receiver, emitter } = off;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  await emitter.emit(off.event(), { traceparent: TRACEPARENT });
  await eventually(() => expect(receiver.requests).toHaveLength(1));
  await off.settled();
  await off.advanceToNextAttempts(endpoint.id);
  await eventually(() => expect(receiver.requests).toHaveLength(2));
  expect(receiver.requests.map(({ headers }) => headers.traceparent)).toEqual([TRACEPARENT, TRACEPARENT]);
});
