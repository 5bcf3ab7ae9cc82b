import type { Names } from "@herald/common/broker/topology";
import type { ChannelModel, ConfirmChannel, GetMessage } from "amqplib";
import { depthOf } from "../broker.ts";
import { originalHeaders, type RejectedMessage, rejectedMessage } from "./rejected-message.ts";

/** A message that this process holds. One that is neither replayed nor discarded goes back to its queue at the end. */
export interface HeldMessage extends RejectedMessage {
  /** Puts it into the inbox again, as it first came, and takes it out of this queue once the broker has confirmed that. */
  replay(): Promise<void>;
  discard(): void;
}

export interface RejectedQueue {
  depth: number;
  /** In the queue's order, each once; no more than were there at the beginning. */
  messages(limit?: number): AsyncGenerator<HeldMessage>;
}

/**
 * Runs a task on the rejected queue. Meanwhile other processes don't see the messages that it has read. They go back at the
 * end, even where this process dies.
 *
 * @throws where there is no such queue
 */
export async function withRejectedQueue<T>(
  connection: ChannelModel,
  names: Names,
  task: (queue: RejectedQueue) => Promise<T>,
): Promise<T> {
  const { messages: depth } = await depthOf(connection, names.rejectedQueue);
  if (depth === null) {
    throw new Error(
      `There is no queue ${names.rejectedQueue}. Has a service run on this broker and with this BROKER_NAMESPACE?`,
    );
  }
  const channel = await connection.createConfirmChannel();
  channel.on("error", () => undefined);
  try {
    return await task({ depth, messages: (limit = depth) => read(channel, names, Math.min(limit, depth)) });
  } finally {
    await channel.close().catch(() => undefined);
  }
}

async function* read(channel: ConfirmChannel, names: Names, limit: number): AsyncGenerator<HeldMessage> {
  for (let count = 0; count < limit; count++) {
    const got = await channel.get(names.rejectedQueue);
    // Another process has taken the rest.
    if (got === false) return;
    yield hold(channel, names, got);
  }
}

function hold(channel: ConfirmChannel, names: Names, got: GetMessage): HeldMessage {
  const message = rejectedMessage(got.content, got.properties.headers ?? {});
  return {
    ...message,
    async replay() {
      // Any inbox queue does: whose event it is stands in the body, where that can be read at all.
      await publish(channel, names.inboxQueues[0] as string, message);
      channel.ack(got);
    },
    discard: () => channel.ack(got),
  };
}

/** @throws where the broker did not take it */
function publish(channel: ConfirmChannel, queue: string, message: RejectedMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    let returned = false;
    const onReturn = () => {
      returned = true;
    };
    // RabbitMQ sends a return before the confirm.
    channel.once("return", onReturn);
    channel.once("close", onClose);
    function onClose() {
      reject(new Error(`The connection broke before RabbitMQ confirmed message ${message.id}; it stays where it was.`));
    }
    channel.sendToQueue(
      queue,
      message.content,
      { headers: originalHeaders(message), contentType: "application/json", persistent: true, mandatory: true },
      (nack) => {
        channel.off("return", onReturn);
        channel.off("close", onClose);
        if (nack) reject(new Error(`RabbitMQ refused message ${message.id}; it stays where it was.`));
        else if (returned) reject(new Error(`There is no queue ${queue}; message ${message.id} stays where it was.`));
        else resolve();
      },
    );
  });
}
