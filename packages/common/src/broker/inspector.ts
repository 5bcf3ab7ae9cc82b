import { type BrokerScope, maintainChannel } from "@herald/amqp";

export interface QueueDepth {
  /** How many messages wait; those that a consumer holds are not counted. */
  messages: number;
  consumers: number;
}

/** Looks at queues from outside. */
export interface Inspector {
  /** @throws where the broker is away, or there is no such queue */
  depthOf(queue: string): Promise<QueueDepth>;
  close(): Promise<void>;
}

/** An inspector has a channel of its own: the broker closes the channel on which a missing queue is asked for. */
export function startInspector(scope: BrokerScope): Inspector {
  const channel = maintainChannel(scope, { purpose: "inspector", open: scope.connection.openChannel });
  return {
    depthOf: async (queue) => {
      const open = channel.current();
      if (open === undefined) throw new Error(`The broker can't be asked about the queue ${queue}: no channel.`);
      const { messageCount, consumerCount } = await open.checkQueue(queue);
      return { messages: messageCount, consumers: consumerCount };
    },
    close: channel.close,
  };
}
