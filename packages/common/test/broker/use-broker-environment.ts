import { type ClientEnvironment, useClientEnvironment } from "@herald/dev/harness/client-environment";
import { type Broker, connectBroker } from "../../src/broker/broker.ts";
import { type Names, names } from "../../src/broker/topology.ts";

/** The surroundings of a test of Herald's broker: a broker on Herald's topology. */
export type BrokerEnvironment = ClientEnvironment<Broker> & {
  readonly names: Names;
  /** The one of the first bucket. */
  readonly inboxQueue: string;
};

/** @param brokerUrl asked before each test */
export function useBrokerEnvironment(brokerUrl: () => string): BrokerEnvironment {
  const environment = useClientEnvironment(brokerUrl, connectBroker, (namespace) => {
    const own = names(namespace);
    const queues = [...own.eventQueues, own.rejectedQueue];
    return {
      queues,
      exchanges: Object.values(own)
        .flat()
        .filter((name) => !queues.includes(name)),
    };
  });
  return Object.defineProperties(environment, {
    names: { get: () => names(environment.namespace) },
    inboxQueue: { get: () => names(environment.namespace).inboxQueues[0] },
  }) as BrokerEnvironment;
}

/** A message for a queue, as a publisher takes it. */
export function messageTo(queue: string, text: string) {
  return { exchange: "", routingKey: queue, content: Buffer.from(text) };
}
