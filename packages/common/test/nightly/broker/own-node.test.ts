import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inbox, until } from "@herald/dev/harness/client-environment";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { NotSentError } from "../../../src/broker/broker.ts";
import { messageTo, useBrokerEnvironment } from "../../broker/use-broker-environment.ts";

const enoughMemory = ["set_vm_memory_high_watermark", "0.4"];

// These tests would disturb all other users of a node, so they have one of their own.
const folder = mkdtempSync(join(tmpdir(), "herald-broker-"));
let node: RabbitmqNode | undefined;

describe("with a node of its own", () => {
  beforeAll(async () => {
    const { executable } = await askForRabbitmqServer();
    node = await startRabbitmqNode(executable, { folder });
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    await node?.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 180_000);

  // Before the environment's own hook, which needs a working node to clean up.
  afterEach(async () => {
    await node?.control(enoughMemory);
  }, 180_000);

  const environment = useBrokerEnvironment(() => node?.url as string);

  test("a node out of memory blocks publishing, shows as not ready, and still takes acknowledgements", async () => {
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
});
