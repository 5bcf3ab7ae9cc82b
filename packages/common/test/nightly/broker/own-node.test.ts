import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inbox, until } from "@herald/dev/harness/client-environment";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { NotSentError } from "../../../src/broker/broker.ts";
import { messageTo, useBrokerEnvironment } from "../../broker/use-broker-environment.ts";

const enoughMemory = ["set_vm_memory_high_watermark", "0.4"];

type Node = Awaited<ReturnType<typeof startRabbitmqNode>>;

// These tests would disturb all other users of a node, so they have one of their own.
const folder = mkdtempSync(join(tmpdir(), "herald-broker-"));
let node: Node | undefined;

/** The same node again, with its data, after a stop; on another port, which the proxy follows. */
async function start(): Promise<Node> {
  const { executable } = await askForRabbitmqServer();
  return await startRabbitmqNode(executable, { folder, pidFolder: join(folder, "pids") });
}

describe("with a node of its own", () => {
  beforeAll(async () => {
    node = await start();
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    await node?.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 180_000);

  // Before the environment's own hook, whose cleaning up needs a node that works.
  afterEach(async () => {
    await node?.control(enoughMemory);
  }, 180_000);

  const environment = useBrokerEnvironment(() => node?.url as string);

  test("a broker's connections come back after an operator closed them", async () => {
    const broker = environment.connect();
    const got = inbox();
    broker.consumeEvents({ queue: environment.inboxQueue, prefetch: 10, handle: got.handle });
    const publisher = broker.publisher();
    await broker.ready();
    await publisher.publish(messageTo(environment.inboxQueue, "one"));
    await until("it came", () => got.messages.length === 1);
    await node?.control(["close_all_connections", "closed by a test"]);
    await until("it came again", () => got.messages.length === 2);
    got.messages[1]?.ack();
    expect(JSON.stringify(environment.logged)).toContain("closed by a test");
    await publisher.publish(messageTo(environment.inboxQueue, "two"));
    await until("the next came", () => got.messages.length === 3);
    got.messages[2]?.ack();
    await environment.reconnect();
  }, 180_000);

  test("a node out of memory blocks publishing, shows as not ready, and takes acknowledgements all the same", async () => {
    const broker = environment.connect();
    const got = inbox();
    broker.consumeEvents({ queue: environment.inboxQueue, prefetch: 10, handle: got.handle });
    const patient = broker.publisher({ timeoutMs: 170_000 });
    const hasty = broker.publisher({ timeoutMs: 200 });
    await broker.ready();
    await patient.publish(messageTo(environment.inboxQueue, "before"));
    await until("it came", () => got.messages.length === 1);

    await node?.control(["set_vm_memory_high_watermark", "absolute", "1MB"]);
    // The broker blocks a connection at the first message that it sends while memory is known to be short.
    const sent: Promise<void>[] = [];
    await until("the block was seen", () => {
      sent.push(patient.publish(messageTo(environment.names.rejectedQueue, "request")));
      return !broker.isReady();
    });
    const tooLate = hasty.publish(messageTo(environment.names.rejectedQueue, "too late"));
    await expect(tooLate).rejects.toThrow(NotSentError);
    await expect(tooLate).rejects.toThrow(
      "the broker takes no messages for now (its memory or disk alarm) (waited 200 ms)",
    );
    got.messages[0]?.ack();
    await until("the acknowledgement was taken", async () => {
      const line = await node?.control(["list_queues", "name", "messages_unacknowledged"]);
      return new RegExp(`${environment.inboxQueue}\\s+0`).test(line ?? "");
    });
    expect(environment.logged.filter(({ level }) => level === "warn").map(({ fields }) => fields.reason)).toEqual([
      expect.stringContaining("blocked by the broker"),
    ]);

    await node?.control(enoughMemory);
    await Promise.all(sent);
    await broker.ready();
    expect(await environment.take(environment.names.rejectedQueue)).toHaveLength(sent.length);
  }, 180_000);

  test("a process with nothing to publish knows of an alarm, says so once, and knows of its end", async () => {
    const broker = environment.connect({ probeMs: 50 });
    await broker.ready();
    expect(broker.isBlocked()).toBe(false);
    await node?.control(["set_vm_memory_high_watermark", "absolute", "1MB"]);
    await until("the alarm was seen", () => broker.isBlocked());
    expect(broker.isReady()).toBe(false);
    await node?.control(enoughMemory);
    await broker.ready();
    expect(broker.isBlocked()).toBe(false);
    const lines = environment.logged.filter(({ level }) => level !== "debug").slice(-2);
    expect(lines).toMatchObject([
      { level: "warn", fields: { what: "test (sending): publishing", reason: expect.stringContaining("blocked") } },
      { level: "info", fields: { what: "test (sending): publishing" } },
    ]);
  }, 180_000);

  test("a restart of the node loses nothing, and needs no restart of its clients", async () => {
    const broker = environment.connect();
    const seen = new Set<string>();
    broker.consumeEvents({
      queue: environment.inboxQueue,
      prefetch: 20,
      handle: (message) => {
        seen.add(message.content.toString());
        message.ack();
      },
    });
    const publisher = broker.publisher({ maxUnconfirmed: 50, timeoutMs: 170_000 });
    await broker.ready();
    let stopped = false;
    let sent = 0;
    const publishing = (async () => {
      while (!stopped) {
        const text = String(sent);
        try {
          await publisher.publish({
            exchange: environment.names.eventsExchange,
            routingKey: "RiskCreated",
            content: Buffer.from(text),
          });
          sent++;
        } catch (error) {
          if (!(error instanceof NotSentError) || error.reason === "closed") throw error;
        }
      }
    })();
    publishing.catch(() => undefined);
    await until("some were sent", () => sent > 100);
    await node?.stop();
    await until("the loss was seen", () => !broker.isReady());
    node = await start();
    const before = sent;
    await until("more were sent", () => sent > before + 100, 60_000);
    stopped = true;
    await publishing;
    await until("all came", () => seen.size === sent);
    const warnings = environment.logged.filter(({ level }) => level === "warn");
    expect(warnings.map(({ fields }) => fields.what).sort()).toEqual(["test (receiving)", "test (sending)"]);
    await environment.reconnect();
  }, 180_000);
});
