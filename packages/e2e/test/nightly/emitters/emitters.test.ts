import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { names } from "@herald/common/broker/topology";
import type { EventPayload } from "@herald/contracts";
import { startProxy } from "@herald/dev/harness/broker-proxy";
import { eventually } from "@herald/dev/harness/eventually";
import {
  askForGo,
  askForLanguage,
  askForMono,
  askForRabbitmq,
  STACK_TIMEOUT_MS,
} from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Channel, type ChannelModel, connect } from "amqplib";
import { type EmitterUser, makeEmitterUser } from "../../../src/emitters/emitter-user.ts";
import { EMITTERS } from "../../../src/emitters/languages.ts";
import { startEmitter } from "../../../src/emitters/start-emitter.ts";
import { type BuiltEmitter, tryEmitter, withEmitter } from "../../../src/emitters/try-emitter.ts";
import type { Programs } from "../../../src/receivers/languages.ts";
import { BUILD_TIMEOUT_MS } from "../../../src/receivers/output.ts";
import { namesTried } from "../../../src/receivers/tried.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

let user: EmitterUser | undefined;
let connection: ChannelModel | undefined;
let channel: Channel;

// Ahead of the hooks that look for connections that were left open.
afterAll(async () => {
  await connection?.close();
  await user?.remove();
});

const environment = useTestEnvironment();
const programs: Programs = {
  language: async (name) => (await askForLanguage(name)).executable,
  go: async () => (await askForGo()).executable,
  mono: askForMono,
};
const TIMEOUT_MS = STACK_TIMEOUT_MS + 3 * BUILD_TIMEOUT_MS;
const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const tried = EMITTERS.filter(({ build }) => build);

beforeAll(async () => {
  user = await makeEmitterUser(environment.broker.url, (await askForRabbitmq()).managementUrl);
  connection = await connect(environment.broker.url);
  channel = await connection.createChannel();
}, STACK_TIMEOUT_MS);

test.each(tried)(
  "the emitter in $name publishes as the contract says, tells what was not emitted, and Herald delivers once what it repeats",
  (language) =>
    withEmitter(language, programs, async (built) => {
      await tryEmitter(built, { url: environment.broker.url, emitterUrl: user?.url ?? "" });
      await emitsToHerald(built);
    }),
  TIMEOUT_MS,
);

/** Has it emit four events, one of them twice. */
async function emitsToHerald(built: BuiltEmitter): Promise<void> {
  const { api, broker, clock, receiver } = environment;
  // The emitter has the machine's clock. An event goes to the endpoints that were there when it happened.
  clock.set(new Date());
  const { endpoint } = await api.create({ url: receiver.url });
  const { queue } = await channel.assertQueue("", { exclusive: true });
  await channel.bindQueue(queue, names(broker.namespace).eventsExchange, "#");
  const proxy = await startProxy(() => user?.url ?? "");
  const emitter = startEmitter(built, {
    AMQP_URL: proxy.url,
    NAMESPACE: broker.namespace,
    ORGANIZATION_ID: api.organizationId,
    TRACEPARENT,
    TIMEOUT_SECONDS: "120",
  });
  try {
    const told = [await emitter.emit(randomUUID()), await emitter.emit(randomUUID())];
    await receiver.received(2);
    // Herald has the third event, and its confirm is lost.
    proxy.holdAnswers();
    const cut = receiver.received(3).then(() => {
      proxy.cut();
      proxy.release();
    });
    const [third] = await Promise.all([emitter.emit(randomUUID()), cut]);
    told.push(third, await emitter.emit(randomUUID()));
    expect(await emitter.end()).toBe(0);

    // The repetition is ahead of the fourth event in their queue.
    await receiver.received(4);
    const ids = receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as EventPayload).id);
    expect(ids.map((id) => `emitted ${id}`).sort()).toEqual([...told].sort());
    expect(receiver.requests.map(({ headers }) => headers.traceparent)).toEqual(ids.map(() => TRACEPARENT));
    expect((await takeIds(queue)).filter((id) => `emitted ${id}` === third).length).toBeGreaterThan(1);
    await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 4 }));
  } finally {
    await emitter.kill();
    await proxy.close();
    await channel.deleteQueue(queue);
  }
}

/** The ids of the events that a queue holds. */
async function takeIds(queue: string): Promise<string[]> {
  const ids: string[] = [];
  for (let message = await channel.get(queue); message !== false; message = await channel.get(queue)) {
    ids.push((JSON.parse(message.content.toString()) as EventPayload).id);
  }
  return ids;
}

test("the documents call tried what a test tries, and nothing else", () => {
  const page = readFileSync(join(projectFolder(), "docs", "emitting-events.md"), "utf8");
  expect(namesTried(page, "emitter")).toEqual(tried.map(({ name }) => name));
});
