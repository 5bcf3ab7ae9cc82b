import { randomBytes } from "node:crypto";
import { afterAll, beforeAll } from "@jest/globals";
import { openManagement, type VirtualHost } from "./broker-management.ts";
import { askForRabbitmq, STACK_TIMEOUT_MS } from "./stack-client.ts";

export interface TestBroker {
  /** Of a virtual host that only this test file has. */
  readonly url: string;
  /** Random: what goes before the names of this file's exchanges and queues. */
  readonly namespace: string;
  /** How many connections to it are open now. */
  countConnections(): Promise<number>;
  /** Makes the broker close every connection, as a restart of it would look to its clients. */
  closeConnections(): Promise<void>;
}

/**
 * Gives a test file a place of its own on a real RabbitMQ. Call it at the top of the file or of a `describe`; its fields
 * may be read in hooks and tests.
 *
 * Afterwards it deletes all exchanges and queues and fails where connections were left open.
 */
export function useBroker(): TestBroker {
  const namespace = `test-${randomBytes(6).toString("hex")}`;
  let made: { url: string; virtualHost: VirtualHost } | undefined;

  beforeAll(async () => {
    const { url, managementUrl } = await askForRabbitmq();
    const virtualHost = await openManagement(url, managementUrl).makeVirtualHost(namespace);
    made = { url: virtualHost.url, virtualHost };
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    if (made === undefined) return;
    const left = await made.virtualHost.connectionsAfterGrace();
    await made.virtualHost.remove();
    if (left.length > 0) {
      throw new Error(`${left.length} connections to RabbitMQ were left open: ${left.join(", ")}. Close them.`);
    }
  });

  const ready = () => {
    if (made === undefined) throw new Error("The broker is there from beforeAll on, not while the file is read.");
    return made;
  };
  return {
    get url() {
      return ready().url;
    },
    namespace,
    countConnections: () => ready().virtualHost.countConnections(),
    closeConnections: () => ready().virtualHost.closeConnections(),
  };
}
