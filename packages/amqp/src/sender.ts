import { type Channel, IllegalOperationError } from "amqplib";
import type { OutgoingMessage } from "./publisher.ts";
import { type BrokerScope, maintainChannel } from "./recovering-channel.ts";

/** A message that may get lost. It is not persistent, and is dropped if no queue takes it. */
export type SentMessage = Pick<OutgoingMessage, "exchange" | "routingKey" | "content">;

export interface Sender {
  /**
   * Sends a message at once, without a confirm, or drops it. Nothing is kept for later: if losing messages does
   * harm, use a `Publisher`.
   *
   * @returns false if it was dropped: there is no channel, the broker takes no messages for now, or the socket is full
   */
  send(message: SentMessage): boolean;
  close(): Promise<void>;
}

/**
 * Sends without confirms, on a channel of its own.
 *
 * @throws if the scope is closed
 */
export function startSender(scope: BrokerScope): Sender {
  const { connection } = scope;
  /** amqplib's buffer is over its mark; "drain" says when it is empty. Without this limit, amqplib would buffer without bound. */
  let saturated = false;
  const channel = maintainChannel<Channel>(scope, {
    purpose: "sender",
    open: connection.openChannel,
    opened: (fresh) => {
      fresh.on("drain", () => {
        saturated = false;
      });
    },
    lost: () => {
      saturated = false;
    },
  });
  return {
    send: ({ exchange, routingKey, content }) => {
      const open = channel.current();
      if (open === undefined || saturated || connection.isBlocked()) return false;
      const properties = { contentType: "application/json", persistent: false };
      try {
        saturated = !open.publish(exchange, routingKey, content, properties);
        return true;
      } catch (error) {
        // The channel is closing, so the message is dropped.
        if (error instanceof IllegalOperationError) return false;
        throw error;
      }
    },
    close: channel.close,
  };
}
