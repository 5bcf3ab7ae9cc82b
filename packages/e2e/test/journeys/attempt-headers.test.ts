import type { DeliveryDetails } from "@herald/contracts";
import type { ReceivedRequest } from "@herald/dev/harness/https-receiver";
import { expect, test } from "@jest/globals";
import { type TestEnvironment, useTestEnvironment } from "./test-environment.ts";

/** Not stored, so they are not shown: the URL of then decided the host, and the secret may have been replaced since. */
const NOT_SHOWN = ["Host", "X-Service-Signature", "webhook-signature"];
/** Node's own, about the connection and not about the request. */
const OF_THE_CONNECTION = ["Connection"];

const EVENT_TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

function pairsOf({ rawHeaders }: ReceivedRequest): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, index) => [
    rawHeaders[2 * index] ?? "",
    rawHeaders[2 * index + 1] ?? "",
  ]);
}

/** A delivery of an event that carries a trace context: its first attempt fails, its second one succeeds. */
async function twoAttempts({ api, receiver, emitter, clock, event, settled }: TestEnvironment) {
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith((_request, index) => ({ status: index === 0 ? 500 : 204 }));
  await emitter.emit(event(), { traceparent: EVENT_TRACE });
  await receiver.received(1);
  await settled();
  const [delivery] = (await api.get(endpoint.id)).deliveries;
  const details = () => api.read<DeliveryDetails>(`/${endpoint.id}/deliveries/${delivery?.id}`);
  clock.set(new Date((await details()).nextAttemptAtUtc ?? 0));
  const requests = await receiver.received(2);
  await settled();
  return { requests, attempts: (await details()).attempts };
}

function expectShownAsReceived({ requests, attempts }: Awaited<ReturnType<typeof twoAttempts>>): void {
  expect(attempts).toHaveLength(2);
  for (const [index, attempt] of attempts.entries()) {
    const received = pairsOf(requests[index] as ReceivedRequest);
    const hidden = [...NOT_SHOWN, ...OF_THE_CONNECTION];
    expect(attempt.headers).toEqual(received.filter(([name]) => !hidden.includes(name)));
    for (const name of NOT_SHOWN) expect(received.map(([each]) => each)).toContain(name);
  }
}

// Nothing listens there: what a collector gets is another test's matter.
const environment = useTestEnvironment({ settings: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9/" } });

test("§4.2/headers the headers that the API shows of an attempt are those that the receiver got, one by one, with its own trace context and not the event's", async () => {
  const made = await twoAttempts(environment);
  expectShownAsReceived(made);
  const traces = made.attempts.map(({ headers }) => headers.find(([name]) => name === "traceparent")?.[1]);
  expect(new Set([EVENT_TRACE, ...traces]).size).toBe(3);
});
