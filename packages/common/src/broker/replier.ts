import { type BrokerLog, type BrokerScope, maintainChannel, type Reply } from "@herald/amqp";

export interface Replier {
  /** May lose the answer, never throws. Answers requests of a `Requester` and nothing else. */
  reply: Reply;
  close(): Promise<void>;
}

/** What RabbitMQ makes of the reply queue's name: the address of one requester's channel. */
const REPLY_ADDRESS_PREFIX = "amq.rabbitmq.reply-to.";

/** Sends answers without confirms and without keeping any: a requester that hears nothing has a timeout. */
export function startReplier(scope: BrokerScope, log: BrokerLog): Replier {
  const { connection } = scope;
  const channel = maintainChannel(scope, { purpose: "replier", open: connection.openChannel });
  return {
    reply: ({ replyTo, correlationId }, content) => {
      if (typeof replyTo !== "string" || !replyTo.startsWith(REPLY_ADDRESS_PREFIX)) return;
      const open = channel.current();
      if (open === undefined || connection.isBlocked()) {
        log.debug("broker: an answer was dropped, since there is no channel for it", { correlationId });
        return;
      }
      try {
        open.publish("", replyTo, content, { correlationId, contentType: "application/json" });
      } catch (error) {
        log.debug("broker: an answer was dropped", { correlationId, error });
      }
    },
    close: channel.close,
  };
}
