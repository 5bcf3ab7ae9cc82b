import type { Channel, MessageProperties } from "amqplib";
import { type Home, keepChannel } from "./kept-channel.ts";
import type { BrokerLog } from "./outages.ts";

/** Answers the request that came with these properties. May get lost, never throws. */
export type Reply = (request: MessageProperties, content: Buffer) => void;

/** What RabbitMQ makes of {@link REPLY_QUEUE}: the address of one requester's channel. Nothing else is answered. */
const REPLY_ADDRESS_PREFIX = "amq.rabbitmq.reply-to.";

/** Sends answers without confirms and without keeping any: a requester that hears nothing has a timeout. */
export function startReplier({ home, log }: { home: Home; log: BrokerLog }): { reply: Reply; close(): Promise<void> } {
  const { connection } = home;
  let channel: Channel | undefined;

  const kept = keepChannel(
    {
      purpose: "replier",
      open: connection.openChannel,
      setUp: async () => undefined,
      opened: (fresh) => {
        channel = fresh;
      },
      lost: () => {
        channel = undefined;
      },
    },
    home,
  );

  function reply({ replyTo, correlationId }: MessageProperties, content: Buffer): void {
    if (typeof replyTo !== "string" || !replyTo.startsWith(REPLY_ADDRESS_PREFIX)) return;
    if (channel === undefined || connection.isBlocked()) {
      log.debug("broker: an answer was dropped, since there is no channel for it", { correlationId });
      return;
    }
    try {
      channel.publish("", replyTo, content, { correlationId, contentType: "application/json" });
    } catch (error) {
      log.debug("broker: an answer was dropped", { correlationId, error });
    }
  }

  return { reply, close: () => kept.close() };
}
