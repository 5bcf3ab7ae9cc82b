import type { Channel } from "amqplib";
import { type Home, keepChannel } from "./kept-channel.ts";
import { declareTopology } from "./topology.ts";

export interface QueueDepth {
  /** Messages that wait; those that a consumer holds don't count. */
  messages: number;
  consumers: number;
}

/** Looks at queues from outside. */
export interface Inspector {
  /** @throws where the broker is away, or there is no such queue */
  depthOf(queue: string): Promise<QueueDepth>;
  close(): Promise<void>;
}

/** An inspector has a channel of its own: asking for a queue that somebody deleted costs the channel. */
export function startInspector({ home, namespace }: { home: Home; namespace: string }): Inspector {
  let channel: Channel | undefined;
  const kept = keepChannel(
    {
      purpose: "inspector",
      open: home.connection.openChannel,
      setUp: (fresh) => declareTopology(fresh, namespace),
      opened: (fresh) => {
        channel = fresh;
      },
      lost: () => {
        channel = undefined;
      },
    },
    home,
  );
  return {
    depthOf: async (queue) => {
      if (channel === undefined) throw new Error(`The broker can't be asked about the queue ${queue}: no channel.`);
      const { messageCount, consumerCount } = await channel.checkQueue(queue);
      return { messages: messageCount, consumers: consumerCount };
    },
    close: () => kept.close(),
  };
}
