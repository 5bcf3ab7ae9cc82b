import { type BrokerLog, type BrokerScope, type Reply, startSender } from "@herald/amqp";

export interface Replier {
  /** May lose the answer, never throws. Answers requests of a `Requester` and nothing else. */
  reply: Reply;
  close(): Promise<void>;
}

/** What RabbitMQ makes of the reply queue's name: the address of one requester's channel. */
const REPLY_ADDRESS_PREFIX = "amq.rabbitmq.reply-to.";

/** Sends answers without confirms, and keeps none: a requester that receives no answer has a timeout. */
export function startReplier(scope: BrokerScope, log: BrokerLog): Replier {
  const sender = startSender(scope);
  return {
    reply: ({ replyTo, correlationId }, content) => {
      if (typeof replyTo !== "string" || !replyTo.startsWith(REPLY_ADDRESS_PREFIX)) return;
      const sent = sender.send({ exchange: "", routingKey: replyTo, content, correlationId });
      if (!sent) log.debug("broker: an answer was dropped, since it could not be sent at once", { correlationId });
    },
    close: sender.close,
  };
}
