import { eventually } from "@herald/dev/harness/eventually";
import { useBroker } from "@herald/dev/harness/use-broker";
import { afterEach, expect, test } from "@jest/globals";
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { connect, type GetMessage } from "amqplib";
import { createEmitter, type EmittedEvent, type Emitter, type EmitterOptions, NotSentError } from "../src/index.ts";
import { createOutbox } from "../src/outbox/index.ts";
import { anEvent, useAdminChannel } from "./given.ts";

const broker = useBroker();
const exchange = `${broker.namespace}.events`;
const queue = `${broker.namespace}.inbox`;

const admin = useAdminChannel(broker, { exchange, queue });

/** Herald's side: the exchange, and a queue that takes everything. */
async function declareInbox(queueArguments: Record<string, unknown> = {}): Promise<void> {
  await admin.declareExchange();
  await admin.channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum", ...queueArguments } });
  await admin.channel.bindQueue(queue, exchange, "#");
}

function start(options: Partial<EmitterOptions> = {}): Emitter {
  const emitter = createEmitter({ url: broker.url, namespace: broker.namespace, timeoutMs: 10_000, ...options });
  admin.emitters.push(emitter);
  return emitter;
}

/** Everything in the queue, oldest first; over a connection of its own. */
async function takeAll(): Promise<GetMessage[]> {
  const own = await connect(broker.url);
  const reading = await own.createChannel();
  const messages: GetMessage[] = [];
  for (;;) {
    const message = await reading.get(queue, { noAck: true });
    if (message === false) break;
    messages.push(message);
  }
  await own.close();
  return messages;
}

/** Registers a propagator, as a service with OpenTelemetry's SDK does, until the end of the test. */
function useOpenTelemetry(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
}
afterEach(() => {
  context.disable();
  propagation.disable();
});

const idOf = (message: GetMessage) => (JSON.parse(message.content.toString()) as EmittedEvent).id;

const reasonOf = async (emission: Promise<void>) => {
  const error = await emission.then(
    () => null,
    (reason: unknown) => reason,
  );
  return error instanceof NotSentError ? error.reason : error;
};

test("emit publishes the contract's message under the event's type and bucket, and resolves when it is stored", async () => {
  await declareInbox();
  const event = anEvent({ data: { changes: { Status: { oldValue: "In progress", newValue: "Done" } } } });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await start().emit(event, { traceparent });
  const [message, ...others] = await takeAll();
  expect(others).toEqual([]);
  expect(JSON.parse(message?.content.toString() ?? "")).toEqual(event);
  expect(message?.fields).toMatchObject({ exchange, routingKey: "RiskCreated.8.2" });
  expect(message?.properties).toMatchObject({
    deliveryMode: 2,
    contentType: "application/json",
    messageId: event.id,
    headers: { traceparent },
  });
});

test("emit continues the trace of the active span, unless it is given another one, or none", async () => {
  await declareInbox();
  useOpenTelemetry();
  const emitter = start();
  const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  const spanContext = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", traceFlags: 1 };
  await context.with(trace.setSpanContext(context.active(), spanContext), async () => {
    await emitter.emit(anEvent());
    await emitter.emitJson(JSON.stringify(anEvent()));
    await emitter.emit(anEvent(), { traceparent: given });
    await emitter.emit(anEvent(), { traceparent: null });
    const values: unknown[] = [];
    const query = async (_text: string, added: unknown[] = []) => void values.push(added[1]);
    await createOutbox().add({ query }, anEvent());
    expect(values).toEqual([`00-${spanContext.traceId}-${spanContext.spanId}-01`]);
  });
  await emitter.emit(anEvent());
  const own = `00-${spanContext.traceId}-${spanContext.spanId}-01`;
  const sent = (await takeAll()).map(({ properties }) => properties.headers?.traceparent);
  expect(sent).toEqual([own, own, given, undefined, undefined]);
});

test("emit says that Herald's exchange is missing once its time is up", async () => {
  const failures: string[] = [];
  const emitter = start({ timeoutMs: 500, onFailure: ({ message }) => failures.push(message) });
  await eventually(() => expect(failures).toContainEqual(expect.stringContaining("is not on the broker")));
  await expect(emitter.emit(anEvent())).rejects.toThrow(
    `the exchange ${exchange} is not on the broker: start Herald's publisher`,
  );
});

test("emit works again once a deleted exchange is made again", async () => {
  await declareInbox();
  const failures: Error[] = [];
  const emitter = start({ onFailure: (error) => failures.push(error) });
  await emitter.emit(anEvent());
  await admin.channel.deleteExchange(exchange);
  const emission = emitter.emit(anEvent());
  await eventually(() => expect(failures.length).toBeGreaterThan(0));
  await declareInbox();
  await emission;
  expect(await takeAll()).toHaveLength(2);
});

test("every emitted event arrives, over several lost connections", async () => {
  await declareInbox();
  const emitter = start({ maxUnconfirmed: 20, timeoutMs: 100_000 });
  const events = Array.from({ length: 600 }, () => anEvent());
  let sent = 0;
  const emissions = Promise.all(
    events.map(async (event) => {
      await emitter.emit(event);
      sent++;
    }),
  );
  for (const share of [60, 240, 420]) {
    await eventually(() => expect(sent).toBeGreaterThan(share));
    await broker.closeConnections();
  }
  await emissions;
  const arrived = new Set((await takeAll()).map(idOf));
  expect(events.filter(({ id }) => !arrived.has(id))).toEqual([]);
});

test.each([
  [
    "a server that can't be reached",
    { port: "1", password: "hunter2" },
    /ECONNREFUSED/,
    /the broker can't be reached /,
  ],
  [
    "a wrong password",
    { password: "hunter2" },
    /the broker refuses the user \S+, or the user's password/,
    /not sent: /,
  ],
  [
    "a virtual host that is not there",
    { pathname: "/not%20there" },
    /the broker refuses the virtual host not there: /,
    /not sent: /,
  ],
])("emit says why it rejects, without a password, for %s", async (_what, change, words, before) => {
  const failures: string[] = [];
  const url = Object.assign(new URL(broker.url), change).href;
  const emitter = start({ url, timeoutMs: 1_000, onFailure: ({ message }) => failures.push(message) });
  await eventually(() => expect(failures).not.toEqual([]));
  const error = await emitter.emit(anEvent()).catch((reason: unknown) => reason as NotSentError);
  expect(error).toMatchObject({ name: "NotSentError", reason: "unavailable" });
  const whole = `${before.source}.*${words.source}.* Emitting it again with the same id and time is safe`;
  expect(error?.message).toMatch(new RegExp(whole));
  expect(failures[0]).toMatch(words);
  expect(`${error?.message} ${failures[0]}`).not.toContain("hunter2");
});

test("close waits for what is under way, and ends the connection", async () => {
  await declareInbox();
  const emitter = start();
  const emissions = Promise.all(Array.from({ length: 100 }, () => emitter.emit(anEvent())));
  await emitter.close();
  await emissions;
  expect(await takeAll()).toHaveLength(100);
  // The one of this test.
  await eventually(async () => expect(await broker.countConnections()).toBe(1));
  expect(await reasonOf(emitter.emit(anEvent()))).toBe("closed");
});

test("close ends while the broker can't be reached", async () => {
  await start({ url: "amqp://127.0.0.1:1" }).close();
});
