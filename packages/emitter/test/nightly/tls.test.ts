import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { afterAll, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { createEmitter, newEvent } from "../../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-emitter-tls-"));
let node: RabbitmqNode | undefined;
afterAll(async () => {
  await node?.stop();
  rmSync(folder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

test(
  "an emitter emits to a broker of an authority of one's own, and to no other",
  async () => {
    const authority = await makeAuthority("The company's own");
    const { executable } = await askForRabbitmqServer();
    node = await startRabbitmqNode(executable, {
      folder,
      pidFolder: join(folder, "pids"),
      disposable: true,
      tls: await authority.issue({ names: ["localhost"] }),
    });
    const plain = await connect(node.url);
    const channel = await plain.createChannel();
    await channel.assertExchange("herald.events", "topic");
    await channel.assertQueue("inbox");
    await channel.bindQueue("inbox", "herald.events", "#");

    const url = `amqps://guest:guest@localhost:${node.tlsPort}`;
    const entityId = randomUUID();
    const event = newEvent({ organizationId: "acme", type: "RiskCreated", entityType: "Risk", entityId, data: {} });
    const emitter = createEmitter({ url, ca: authority.cert, timeoutMs: 60_000 });
    await emitter.emit(event);
    await emitter.close();
    expect((await channel.checkQueue("inbox")).messageCount).toBe(1);
    await plain.close();

    const { cert } = await makeAuthority("Another one");
    const refused = await new Promise<Error>((resolve) => {
      const stranger = createEmitter({
        url,
        ca: cert,
        onFailure: (error) => void stranger.close().then(() => resolve(error)),
      });
    });
    expect(refused.message).toMatch(/unable to verify|self-signed/);
  },
  STACK_TIMEOUT_MS,
);
