import { names } from "@herald/common/broker/topology";
import { connect } from "amqplib";
import type { BrokerPlace } from "./broker-place.ts";

/**
 * A place on a broker of somebody's own whose management API is not known: only the namespace keeps its names apart, and
 * what only the management API could do, cannot be done.
 */
export function shareBroker(url: string, namespace: string): BrokerPlace {
  const impossible = async () => {
    throw new Error(
      "This needs the broker's management API. Beside AMQP_URL, set AMQP_MANAGEMENT_URL to it, with credentials of an " +
        "administrator (http://guest:guest@localhost:15672), or unset AMQP_URL.",
    );
  };
  return {
    url,
    countConnections: impossible,
    connectionsAfterGrace: async () => [],
    closeConnections: impossible,
    remove: async () => {
      const { eventsExchange, noticesExchange, ...queues } = names(namespace);
      const connection = await connect(url);
      try {
        const channel = await connection.createChannel();
        for (const queue of Object.values(queues)) await channel.deleteQueue(queue);
        for (const exchange of [eventsExchange, noticesExchange]) await channel.deleteExchange(exchange);
      } finally {
        await connection.close();
      }
    },
  };
}
