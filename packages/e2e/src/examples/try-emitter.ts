import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { judgeEvent } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { startProxy } from "@herald/dev/harness/link";
import { routingKey } from "@herald/emitter";
import { type Channel, connect, type GetMessage, type Options } from "amqplib";

type RunningEmitter = ReturnType<typeof startEmitter>;

function startEmitter([program = "", ...args]: readonly string[], settings: Record<string, string>) {
  const child = spawn(program, args, { env: { ...process.env, ...settings } });
  let waiting: { resolve(line: string): void; reject(error: Error): void } | undefined;
  let errors = "";
  let failure: Error | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    waiting?.resolve(line);
    waiting = undefined;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors = (errors + chunk).slice(-2000);
  });
  child.stdin.on("error", () => {});
  const ended = new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      failure = error;
      resolve(null);
    });
    child.once("close", resolve);
  }).then((code) => {
    failure ??= new Error(`${program} ended with ${code}:\n${errors}`);
    waiting?.reject(failure);
    return code;
  });
  return {
    /** Has it emit that a work item was completed. Resolves with what it says of it. One at a time. */
    emit: (workItemId: string) =>
      new Promise<string>((resolve, reject) => {
        if (failure) return reject(failure);
        waiting = { resolve, reject };
        child.stdin.write(`${workItemId}\n`);
      }),
    /** Ends its input. Resolves with its exit code. */
    end: () => {
      child.stdin.end();
      return ended;
    },
    /** Ends it at once, if it still runs. */
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

interface Trial {
  brokerUrl: string;
  channel: Channel;
  start(settings: Record<string, string>): RunningEmitter;
}

/** Needs UTF-8 for its hash, and escapes in JSON. */
const ORGANIZATION_ID = 'Größe & "Söhne"';
const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const EMITTED = /^emitted [0-9a-f-]{36}$/;
/** For what must succeed: long enough for a machine that is ten times slower. */
const PATIENT = { TIMEOUT_SECONDS: "120" };

/** Tries all that an emitter has to do. @throws where it does something wrong */
export async function tryEmitter(command: readonly string[], brokerUrl: string): Promise<void> {
  const started: RunningEmitter[] = [];
  const start: Trial["start"] = (settings) => {
    // Java reads its environment in the locale's encoding.
    const emitter = startEmitter(command, { ORGANIZATION_ID, LC_ALL: "C.UTF-8", ...PATIENT, ...settings });
    started.push(emitter);
    return emitter;
  };
  const connection = await connect(brokerUrl);
  // The calls report what fails; without a listener an error would end the process.
  connection.on("error", () => undefined);
  try {
    const channel = await connection.createChannel();
    channel.on("error", () => undefined);
    const trial = { brokerUrl, channel, start };
    const inTurn = async () => {
      await publishesByTheContract(trial);
      await tellsWhatNoQueueTook(trial);
      await tellsWhatTheBrokerRefused(trial);
      await sendsAgainWhatWasNotConfirmed(trial);
    };
    // The last one only waits, up to half a minute, until its library gives the broker up.
    await Promise.all([inTurn(), tellsWhatWasNotConfirmed(trial)]);
  } finally {
    for (const emitter of started) await emitter.kill();
    await connection.close();
  }
}

async function publishesByTheContract({ channel, brokerUrl, start }: Trial): Promise<void> {
  await withExchange(channel, {}, async ({ namespace, queue }) => {
    const emitter = start({ AMQP_URL: brokerUrl, BROKER_NAMESPACE: namespace, TRACEPARENT });
    const workItems = [randomUUID(), randomUUID(), randomUUID()];
    const printed: string[] = [];
    for (const workItem of workItems) printed.push(await emitter.emit(workItem));
    assert.equal(await emitter.end(), 0, "It ends with 0 where all events were emitted.");
    const messages = await take(channel, queue);
    assert.equal(messages.length, workItems.length, `It printed ${printed.join(", ")}.`);
    for (const [index, message] of messages.entries()) {
      const id = assertContract(message, workItems[index] as string);
      assert.equal(printed[index], `emitted ${id}`);
    }
  });
}

function assertContract({ content, fields, properties }: GetMessage, workItem: string): string {
  const judgement = judgeEvent(content, { now: new Date(), windowMs: 3_600_000 });
  if (judgement.kind !== "event") throw new Error(`Herald's verdict on its event is ${JSON.stringify(judgement)}.`);
  const { id, occurredAtUtc, ...event } = judgement.event;
  assert.deepEqual(event, {
    organizationId: ORGANIZATION_ID,
    type: "WorkItemCompleted",
    entityType: "WorkItem",
    entityId: workItem,
    data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
  });
  assert.match(occurredAtUtc, /\.\d{3}Z$/);
  assert.equal(fields.routingKey, routingKey(judgement.event));
  const { deliveryMode, contentType, messageId, type, headers } = properties;
  assert.deepEqual(
    { deliveryMode, contentType, messageId, type, traceparent: headers?.traceparent },
    {
      deliveryMode: 2,
      contentType: "application/json",
      messageId: id,
      type: "WorkItemCompleted",
      traceparent: TRACEPARENT,
    },
  );
  return id;
}

async function tellsWhatNoQueueTook({ channel, brokerUrl, start }: Trial): Promise<void> {
  await withExchange(channel, undefined, async ({ namespace }) => {
    const emitter = start({ AMQP_URL: brokerUrl, BROKER_NAMESPACE: namespace });
    assert.match(await emitter.emit(randomUUID()), /^not emitted [0-9a-f-]{36}: no queue takes it/);
    // Herald rejects it later, which its emitter would not see.
    assert.match(await emitter.emit("4711"), /^not emitted [0-9a-f-]{36}: its entity id is no UUID/);
    assert.equal(await emitter.end(), 1, "It ends with 1 where an event was not emitted.");
  });
}

async function tellsWhatTheBrokerRefused({ channel, brokerUrl, start }: Trial): Promise<void> {
  const full = { arguments: { "x-max-length": 1, "x-overflow": "reject-publish" } };
  await withExchange(channel, full, async ({ namespace }) => {
    const emitter = start({ AMQP_URL: brokerUrl, BROKER_NAMESPACE: namespace });
    assert.match(await emitter.emit(randomUUID()), EMITTED);
    assert.match(await emitter.emit(randomUUID()), /^not emitted [0-9a-f-]{36}: the broker refused it/);
  });
}

async function tellsWhatWasNotConfirmed({ channel, brokerUrl, start }: Trial): Promise<void> {
  const proxy = await startProxy(() => brokerUrl);
  try {
    await withExchange(channel, {}, async ({ namespace }) => {
      const emitter = start({ AMQP_URL: proxy.url, BROKER_NAMESPACE: namespace, TIMEOUT_SECONDS: "3" });
      // On a slow machine the first ones may take longer than that.
      await eventually(async () => assert.match(await emitter.emit(randomUUID()), EMITTED));
      proxy.holdAnswers();
      const printed = await emitter.emit(randomUUID());
      assert.match(printed, /^not emitted [0-9a-f-]{36}: the broker did not confirm it in time/);
    });
  } finally {
    await proxy.close();
  }
}

async function sendsAgainWhatWasNotConfirmed({ channel, brokerUrl, start }: Trial): Promise<void> {
  const proxy = await startProxy(() => brokerUrl);
  try {
    await withExchange(channel, {}, async ({ namespace, queue }) => {
      const emitter = start({ AMQP_URL: proxy.url, BROKER_NAMESPACE: namespace });
      assert.match(await emitter.emit(randomUUID()), EMITTED);
      proxy.holdAnswers();
      const arrived = eventually(async () => assert.equal((await channel.checkQueue(queue)).messageCount, 2));
      const cut = arrived.then(() => {
        proxy.cut();
        proxy.release();
      });
      const [printed] = await Promise.all([emitter.emit(randomUUID()), cut]);
      assert.match(printed, EMITTED);
      const [, second, ...again] = (await take(channel, queue)).map(({ content }) => content.toString());
      assert.deepEqual(new Set(again), new Set([second]), "The same event comes again, with its id and time.");
    });
  } finally {
    await proxy.close();
  }
}

/** Gives a trial an exchange of events, and a queue of them where there are options for one. */
async function withExchange(
  channel: Channel,
  options: Options.AssertQueue | undefined,
  work: (names: { namespace: string; queue: string }) => Promise<void>,
): Promise<void> {
  const namespace = `emit-${randomUUID()}`;
  const [exchange, queue] = [`${namespace}.events`, `${namespace}.queue`];
  await channel.assertExchange(exchange, "topic", { durable: true });
  try {
    if (options !== undefined) {
      await channel.assertQueue(queue, { durable: true, ...options });
      await channel.bindQueue(queue, exchange, "#");
    }
    await work({ namespace, queue });
  } finally {
    await channel.deleteQueue(queue);
    await channel.deleteExchange(exchange);
  }
}

async function take(channel: Channel, queue: string): Promise<GetMessage[]> {
  const messages: GetMessage[] = [];
  for (;;) {
    const message = await channel.get(queue, { noAck: true });
    if (message === false) return messages;
    messages.push(message);
  }
}
