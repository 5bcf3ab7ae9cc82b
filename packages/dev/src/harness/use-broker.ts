import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "@jest/globals";
import type { BrokerUrls } from "../stack/broker-rights.ts";
import { type RabbitmqNode, startRabbitmqNode } from "../stack/rabbitmq-node.ts";
import { type BrokerEnvironment, makeVirtualHost } from "./broker-environment.ts";
import { askForRabbitmq, askForRabbitmqServer, STACK_TIMEOUT_MS } from "./stack-client.ts";

export interface TestBroker {
  /** The URL of a virtual host that only this test file has. */
  readonly url: string;
  /** The URL of the broker for each service, with the user that it has in production. */
  readonly serviceUrls: BrokerUrls;
  /** Random; the names of this file's exchanges and queues start with it. */
  readonly namespace: string;
  /** How many connections to it are open now. */
  countConnections(): Promise<number>;
  /** Makes the broker close every connection, as a restart of it would look to its clients. */
  closeConnections(): Promise<void>;
}

export interface TestBrokerOptions {
  /** A RabbitMQ node that only this test file uses, configured as in production, also where AMQP_URL names a broker. */
  ownNode?: boolean;
}

/**
 * Gives a test file a virtual host of its own on a real RabbitMQ. Call it at the top of the file or of a `describe`; its fields
 * may be read in hooks and tests.
 *
 * Afterwards it deletes all exchanges and queues and fails where connections were left open.
 */
export function useBroker({ ownNode = false }: TestBrokerOptions = {}): TestBroker {
  const namespace = `test-${randomBytes(6).toString("hex")}`;
  const folder = join(tmpdir(), `herald-${namespace}`);
  let node: RabbitmqNode | undefined;
  let environment: BrokerEnvironment | undefined;

  async function startNode(): Promise<RabbitmqNode> {
    const { executable } = await askForRabbitmqServer();
    return await startRabbitmqNode(executable, { folder, pidFolder: join(folder, "pids"), management: true });
  }

  beforeAll(async () => {
    if (ownNode) node = await startNode();
    const { url, managementUrl } = node ?? (await askForRabbitmq());
    if (managementUrl === undefined)
      throw new Error(
        "Beside AMQP_URL, set AMQP_MANAGEMENT_URL to the broker's management API, with an administrator's name and password.",
      );
    environment = await makeVirtualHost(url, managementUrl, namespace);
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    const left = (await environment?.openConnections()) ?? [];
    await environment?.remove();
    await node?.stop();
    rmSync(folder, { recursive: true, force: true });
    if (left.length > 0) {
      throw new Error(`${left.length} connections to RabbitMQ were left open: ${left.join(", ")}. Close them.`);
    }
  }, STACK_TIMEOUT_MS);

  const ready = () => {
    if (environment === undefined)
      throw new Error("The broker exists from beforeAll on, not while the file is loaded.");
    return environment;
  };
  return {
    get url() {
      return ready().url;
    },
    get serviceUrls() {
      return ready().serviceUrls;
    },
    namespace,
    countConnections: () => ready().countConnections(),
    closeConnections: () => ready().closeConnections(),
  };
}
