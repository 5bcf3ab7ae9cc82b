import { randomBytes } from "node:crypto";
import { afterAll, beforeAll } from "@jest/globals";
import { type BrokerEnvironment, makeVirtualHost, namespaceOnly } from "./broker-environment.ts";
import { askForRabbitmq, STACK_TIMEOUT_MS } from "./stack-client.ts";

export interface TestBroker {
  /** Of a virtual host that only this test file has, where the broker is ours. */
  readonly url: string;
  /** Random; the names of this file's exchanges and queues start with it. */
  readonly namespace: string;
  /** How many connections to it are open now. */
  countConnections(): Promise<number>;
  /** Makes the broker close every connection, as a restart of it would look to its clients. */
  closeConnections(): Promise<void>;
}

/**
 * Gives a test file a virtual host of its own on a real RabbitMQ. Call it at the top of the file or of a `describe`; its fields
 * may be read in hooks and tests.
 *
 * Afterwards it deletes all exchanges and queues and fails where connections were left open.
 */
export function useBroker(): TestBroker {
  const namespace = `test-${randomBytes(6).toString("hex")}`;
  let environment: BrokerEnvironment | undefined;

  beforeAll(async () => {
    const { url, managementUrl } = await askForRabbitmq();
    environment = managementUrl ? await makeVirtualHost(url, managementUrl, namespace) : namespaceOnly(url, namespace);
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    if (environment === undefined) return;
    const left = await environment.openConnections();
    await environment.remove();
    if (left.length > 0) {
      throw new Error(`${left.length} connections to RabbitMQ were left open: ${left.join(", ")}. Close them.`);
    }
  });

  const ready = () => {
    if (environment === undefined)
      throw new Error("The broker exists from beforeAll on, not while the file is loaded.");
    return environment;
  };
  return {
    get url() {
      return ready().url;
    },
    namespace,
    countConnections: () => ready().countConnections(),
    closeConnections: () => ready().closeConnections(),
  };
}
