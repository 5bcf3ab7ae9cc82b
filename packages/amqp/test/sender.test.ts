import { setImmediate as turn } from "node:timers/promises";
import { until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { messageTo, useScopeEnvironment } from "./use-scope-environment.ts";

const server = useBroker();
const environment = useScopeEnvironment(() => server.url);

/** A sender whose broker can be reached. */
async function start() {
  const scope = environment.connect();
  const sender = scope.sender();
  await scope.ready();
  return { scope, sender };
}

test("a sender sends transient messages in the order of the calls", async () => {
  const { sender } = await start();
  const queue = environment.names.otherQueue;
  expect(sender.send(messageTo(queue, "one"))).toBe(true);
  expect(sender.send(messageTo(queue, "two"))).toBe(true);
  await until("both have arrived", async () => (await environment.waitingIn(queue)) === 2);
  const first = await environment.takeOne(queue);
  expect(first?.content.toString()).toBe("one");
  expect(first?.properties).toMatchObject({ contentType: "application/json", deliveryMode: 1 });
  expect(await environment.take(queue)).toEqual(["two"]);
});

test("a sender drops a message that no queue takes, and sends the next", async () => {
  const { sender } = await start();
  const queue = environment.names.otherQueue;
  expect(sender.send(messageTo("nowhere", "lost"))).toBe(true);
  expect(sender.send(messageTo(queue, "next"))).toBe(true);
  await until("it has arrived", async () => (await environment.waitingIn(queue)) === 1);
});

test("a sender drops messages while the broker is away, and sends again when it is back", async () => {
  const scope = environment.connect();
  const sender = scope.sender();
  const queue = environment.names.otherQueue;
  expect(sender.send(messageTo(queue, "too early"))).toBe(false);
  await scope.ready();
  environment.proxy.refuse();
  await until("the loss was seen", () => !scope.isReady());
  expect(sender.send(messageTo(queue, "lost"))).toBe(false);
  environment.proxy.accept();
  await scope.ready();
  expect(sender.send(messageTo(queue, "back"))).toBe(true);
  await until("it has arrived", async () => (await environment.waitingIn(queue)) === 1);
  expect(await environment.take(queue)).toEqual(["back"]);
});

test("a sender drops messages while the socket is full, so that memory is bounded, and sends again afterwards", async () => {
  const { sender } = await start();
  const queue = environment.names.otherQueue;
  const large = { exchange: "", routingKey: queue, content: Buffer.alloc(50_000, "x") };
  environment.proxy.holdRequests();
  let taken = 0;
  for (let call = 0; call < 3_000; call++) {
    if (sender.send(large)) taken++;
    await turn();
  }
  // The sockets on the way hold some messages, and so does amqplib's buffer; 150 MB were offered.
  expect(taken).toBeLessThan(1_000);
  environment.proxy.release();
  await until("it takes messages again", () => sender.send(messageTo(queue, "last")));
  await until("all have arrived", async () => (await environment.waitingIn(queue)) === taken + 1);
});

test("a sender sends nothing after it was closed", async () => {
  const { scope, sender } = await start();
  await sender.close();
  expect(sender.send(messageTo(environment.names.otherQueue, "late"))).toBe(false);
  expect(scope.isReady()).toBe(true);
});
