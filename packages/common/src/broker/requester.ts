import { randomUUID } from "node:crypto";
import { type BrokerLog, type BrokerScope, maintainChannel, type Reply, startSender } from "@herald/amqp";
import type { Message } from "amqplib";

export interface Request {
  exchange: string;
  routingKey: string;
  /** JSON, UTF-8. Stays in the queue if no answer comes in time: a request must be worth doing late. */
  content: Buffer;
  headers?: Record<string, unknown>;
  /** From the call to the answer, any reconnection included. */
  timeoutMs: number;
}

export type Requester = ReturnType<typeof startRequester>;

/**
 * RabbitMQ's direct reply-to: a queue that exists only between this channel and the process that answers, so there is
 * none to declare, and none left behind. Requests must be published on the channel that consumes it.
 */
const REPLY_QUEUE = "amq.rabbitmq.reply-to";

interface Pending {
  request: Request;
  correlationId: string;
  answer(content: Buffer | undefined): void;
}

export function startRequester(scope: BrokerScope) {
  const { connection } = scope;
  let closing = false;
  /** Not sent yet: there is no channel, or the broker takes no messages. */
  const waiting = new Set<Pending>();
  const sent = new Map<string, Pending>();

  const channel = maintainChannel(scope, {
    purpose: "requester",
    open: connection.openChannel,
    setUp: async (fresh, invalidate) => {
      const onAnswer = (message: Message | null) => {
        if (message === null) invalidate(new Error("the broker cancelled the consumer of answers"));
        else sent.get(message.properties.correlationId)?.answer(message.content);
      };
      await fresh.consume(REPLY_QUEUE, onAnswer, { noAck: true });
    },
    opened: (fresh) => {
      fresh.on("return", ({ properties }) => sent.get(properties.correlationId)?.answer(undefined));
      send();
    },
    lost: () => {
      for (const pending of [...sent.values()]) pending.answer(undefined);
    },
    beforeClose: async () => {
      closing = true;
      for (const pending of [...waiting, ...sent.values()]) pending.answer(undefined);
      stopListening();
    },
  });
  const stopListening = connection.onChange(send);

  function send(): void {
    for (const pending of waiting) {
      const open = channel.current();
      if (open === undefined || connection.isBlocked()) return;
      const { request, correlationId } = pending;
      waiting.delete(pending);
      sent.set(correlationId, pending);
      try {
        open.publish(request.exchange, request.routingKey, request.content, {
          contentType: "application/json",
          persistent: true,
          mandatory: true,
          replyTo: REPLY_QUEUE,
          correlationId,
          ...(request.headers && { headers: request.headers }),
        });
      } catch {
        pending.answer(undefined);
      }
    }
  }

  return {
    /**
     * Sends a message and waits for the answer of its consumer (`IncomingMessage.reply`).
     *
     * @returns undefined if no answer came in time, if no queue takes the message, or if the channel died:
     *   the answer's address died with it. The request may have been carried out in all of these cases.
     */
    request: (request: Request): Promise<Buffer | undefined> =>
      new Promise((resolve) => {
        if (closing) return resolve(undefined);
        const pending: Pending = {
          request,
          correlationId: randomUUID(),
          answer: (content) => {
            clearTimeout(timer);
            waiting.delete(pending);
            sent.delete(pending.correlationId);
            resolve(content);
          },
        };
        const timer = setTimeout(() => pending.answer(undefined), request.timeoutMs);
        waiting.add(pending);
        send();
      }),
    close: channel.close,
  };
}

/** RabbitMQ turns the reply queue's name into this: the address of one requester's channel. */
const REPLY_ADDRESS_PREFIX = "amq.rabbitmq.reply-to.";

/**
 * Answers requests of a `Requester` and nothing else. It sends without confirms, keeps nothing and never throws: a requester that
 * receives no answer has a timeout.
 */
export function startReplier(scope: BrokerScope, log: BrokerLog): Reply {
  const sender = startSender(scope);
  return ({ replyTo, correlationId }, content) => {
    if (typeof replyTo !== "string" || !replyTo.startsWith(REPLY_ADDRESS_PREFIX)) return;
    const sent = sender.send({ exchange: "", routingKey: replyTo, content, correlationId });
    if (!sent) log.debug("broker: an answer was dropped, since it could not be sent at once", { correlationId });
  };
}
