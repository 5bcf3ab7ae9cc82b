import { randomBytes } from "node:crypto";
import { afterAll, beforeAll } from "@jest/globals";
import type { BrokerPlace } from "./broker-place.ts";
import { shareBroker } from "./shared-broker.ts";
import { askForRabbitmq, STACK_TIMEOUT_MS } from "./stack-client.ts";
import { makeVirtualHost } from "./virtual-host.ts";

export interface TestBroker {
  /** Of a virtual host that only this test file has, where the broker is ours. */
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
  let place: BrokerPlace | undefined;

  beforeAll(async () => {
    const { url, managementUrl } = await askForRabbitmq();
    place = managementUrl ? await makeVirtualHost(url, managementUrl, namespace) : shareBroker(url, namespace);
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    if (place === undefined) return;
    const left = await place.connectionsAfterGrace();
    await place.remove();
    if (left.length > 0) {
      throw new Error(`${left.length} connections to RabbitMQ were left open: ${left.join(", ")}. Close them.`);
    }
  });

  const ready = () => {
    if (place === undefined) throw new Error("The broker is there from beforeAll on, not while the file is read.");
    return place;
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
