import { randomUUID } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { createEmitter, type Emitter, type RejectedEvent } from "../src/index.ts";
import { useAdminChannel } from "./given.ts";

const broker = useBroker();
const exchange = `${broker.namespace}.notices`;
const queue = `${broker.namespace}.rejected-of-billing`;

const admin = useAdminChannel(broker, { exchange, queue });

function start(failures: Error[] = []): Emitter {
  const { url, namespace } = broker;
  const emitter = createEmitter({ url, namespace, onFailure: (error) => failures.push(error) });
  admin.emitters.push(emitter);
  return emitter;
}

const rejection = (reason = "/entityId must be a UUID"): RejectedEvent => ({
  id: randomUUID(),
  type: "event.rejected",
  occurredAtUtc: "2026-03-01T12:00:00.000Z",
  organizationId: "acme",
  eventId: randomUUID(),
  eventType: "RiskCreated",
  cause: "rejected",
  reason,
});

/** Publishes as Herald does. Over a connection of its own, since a test may end the others. */
async function tell(...rejections: (RejectedEvent | string)[]): Promise<void> {
  const own = await connect(broker.url);
  const confirmed = await own.createConfirmChannel();
  for (const each of rejections) {
    const content = typeof each === "string" ? each : JSON.stringify(each);
    confirmed.publish(exchange, "event.rejected", Buffer.from(content), { persistent: true });
  }
  await confirmed.waitForConfirms();
  await own.close();
}

/** A service that listens from now on, on a broker that has the topology of Herald. */
async function listen(handle: Parameters<Emitter["onRejected"]>[0], failures?: Error[]) {
  await admin.declareExchange();
  const rejections = start(failures).onRejected(handle, { queue });
  await eventually(() => expect(rejections.isReady()).toBe(true));
  return rejections;
}

const waitingIn = async () => {
  const own = await connect(broker.url);
  const { messageCount } = await (await own.createChannel()).checkQueue(queue);
  await own.close();
  return messageCount;
};

test("a service hears of rejected events through a queue of its own, and of no other notices", async () => {
  const heard: RejectedEvent[] = [];
  const rejections = await listen((each) => void heard.push(each));
  const [first, second] = [rejection(), rejection()];
  admin.channel.publish(exchange, "endpoint.failing", Buffer.from("{}"));
  await tell(first, second);
  await eventually(() => expect(heard).toEqual([first, second]));
  await rejections.close();
  expect(await waitingIn()).toBe(0);
});

test("a rejection is acknowledged when its handler has ended, and comes again if the handler failed", async () => {
  const failures: Error[] = [];
  const heard: string[] = [];
  let fails = true;
  const rejections = await listen(async ({ reason }) => {
    heard.push(reason);
    if (fails) throw new Error("no mail server");
  }, failures);
  await tell(rejection("a"));
  await eventually(() => expect(heard.length).toBeGreaterThan(1));
  expect(failures.map(({ cause }) => (cause as Error | undefined)?.message)).toContain("no mail server");
  fails = false;
  const before = heard.length;
  await eventually(() => expect(heard.length).toBeGreaterThan(before));
  await rejections.close();
  expect(await waitingIn()).toBe(0);
});

test("what comes while no process listens waits in the queue, and closing waits for the handler under way", async () => {
  const first = await listen(() => {});
  await first.close();
  await tell(rejection("a"), rejection("b"));
  const begun: string[] = [];
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const second = start().onRejected(
    async ({ reason }) => {
      begun.push(reason);
      await ended;
    },
    { queue, prefetch: 1 },
  );
  await eventually(() => expect(begun).toEqual(["a"]));
  const closed = second.close();
  end();
  await closed;
  expect(begun).toEqual(["a"]);
  expect(await waitingIn()).toBe(1);
});

test("a service goes on hearing after a lost connection, and after its queue was deleted", async () => {
  const heard: string[] = [];
  await listen(({ reason }) => void heard.push(reason));
  await broker.closeConnections();
  await eventually(() => tell(rejection("after the connection")));
  await eventually(() => expect(heard).toContain("after the connection"));
  const own = await connect(broker.url);
  await (await own.createChannel()).deleteQueue(queue);
  await own.close();
  await eventually(async () => {
    await tell(rejection("after the queue"));
    expect(heard).toContain("after the queue");
  });
});

test("a service that starts before Herald gets an error, and rejections once Herald is there", async () => {
  const failures: Error[] = [];
  const heard: string[] = [];
  start(failures).onRejected(({ reason }) => void heard.push(reason), { queue });
  await eventually(() =>
    expect(failures.map(({ message }) => message)).toContainEqual(
      expect.stringContaining(`the exchange ${exchange} is not on the broker: start Herald's publisher`),
    ),
  );
  await admin.declareExchange();
  await eventually(async () => {
    await tell(rejection("a"));
    expect(heard).toContain("a");
  });
});

test("what is no rejection is taken out of the queue, and holds up nothing", async () => {
  const heard: string[] = [];
  const rejections = await listen(({ reason }) => void heard.push(reason));
  await tell("{", "null", '{"type":"other"}', rejection("a"));
  await eventually(() => expect(heard).toEqual(["a"]));
  await rejections.close();
  expect(await waitingIn()).toBe(0);
});

test("an emitter that is closed ends what listens for rejections", async () => {
  await admin.declareExchange();
  const emitter = start();
  const rejections = emitter.onRejected(() => {}, { queue });
  await eventually(() => expect(rejections.isReady()).toBe(true));
  await emitter.close();
  expect(rejections.isReady()).toBe(false);
  // The one of this test.
  await eventually(async () => expect(await broker.countConnections()).toBe(1));
  expect(() => emitter.onRejected(() => {}, { queue })).toThrow("closed");
});
