import type { BrokerScope } from "@herald/amqp";
import type { Channel } from "amqplib";

/**
 * Publishes a message that no queue takes, again and again. A broker whose memory or disk alarm is set tells only a connection that
 * publishes. It blocks all emitters meanwhile, so there is no event, and nothing that Herald would publish by itself.
 *
 * @param exchange a direct one, which drops what has a key that no queue is bound by
 * @returns what ends it
 */
export function probeForAlarms(connection: BrokerScope["connection"], exchange: string, everyMs: number): () => void {
  // It stays open: a broker in alarm answers nothing more on the connection, not even a channel's close.
  let channel: Channel | undefined;

  async function probe(): Promise<void> {
    if (connection.obstacle() !== undefined) return;
    if (channel === undefined) {
      const opened = await connection.openChannel();
      const forget = () => {
        if (channel === opened) channel = undefined;
      };
      // An exchange that is not declared yet, or a right that is missing, closes the channel.
      opened.on("error", forget);
      opened.on("close", forget);
      channel = opened;
    }
    channel.publish(exchange, "nobody", Buffer.alloc(0));
  }

  // What fails here shows in the connection itself.
  const timer = setInterval(() => void probe().catch(() => undefined), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
