import { randomUUID } from "node:crypto";
import type { Channel, Message } from "amqplib";
import { type Home, keepChannel } from "./kept-channel.ts";
import { declareTopology } from "./topology.ts";

export interface Request {
  queue: string;
  /** JSON, UTF-8. Stays in the queue where nobody answers in time: a request must be worth doing late. */
  content: Buffer;
  headers?: Record<string, unknown>;
  /** From the call to the answer, any reconnection included. */
  timeoutMs: number;
}

export interface Requester {
  /**
   * Sends a message to a queue and waits for what its consumer makes of it (`IncomingMessage.reply`).
   *
   * @returns the answer; undefined where none came in time, where the queue does not exist, and where the channel died
   *   meanwhile: the answer's address died with it. The request may have been carried out in all of these cases.
   */
  request(request: Request): Promise<Buffer | undefined>;
  /** Gives up what is under way, and closes the channel. */
  close(): Promise<void>;
}

/**
 * RabbitMQ's direct reply-to: a queue that exists only between this channel and whoever answers, so there is none to
 * declare, and none left behind. Requests must be published on the channel that consumes it.
 */
const REPLY_QUEUE = "amq.rabbitmq.reply-to";

interface Pending {
  request: Request;
  correlationId: string;
  answer(content: Buffer | undefined): void;
}

export function startRequester({ home, namespace }: { home: Home; namespace: string }): Requester {
  const { connection } = home;
  let channel: Channel | undefined;
  let closing = false;
  /** Not sent yet: there is no channel, or the broker takes no messages. */
  const waiting = new Set<Pending>();
  const sent = new Map<string, Pending>();

  const kept = keepChannel(
    {
      purpose: "requester",
      open: connection.openChannel,
      setUp: async (fresh, lose) => {
        await declareTopology(fresh, namespace);
        const onAnswer = (message: Message | null) => {
          if (message === null) lose(new Error("the broker cancelled the consumer of answers"));
          else sent.get(message.properties.correlationId)?.answer(message.content);
        };
        await fresh.consume(REPLY_QUEUE, onAnswer, { noAck: true });
      },
      opened: (fresh) => {
        channel = fresh;
        fresh.on("return", ({ properties }) => sent.get(properties.correlationId)?.answer(undefined));
        send();
      },
      lost: () => {
        channel = undefined;
        for (const pending of [...sent.values()]) pending.answer(undefined);
      },
    },
    home,
  );
  const unsubscribe = connection.onChange(send);

  function send(): void {
    for (const pending of waiting) {
      if (channel === undefined || connection.isBlocked()) return;
      const { request, correlationId } = pending;
      waiting.delete(pending);
      sent.set(correlationId, pending);
      try {
        channel.publish("", request.queue, request.content, {
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
    request: (request) =>
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
    close: async () => {
      closing = true;
      for (const pending of [...waiting, ...sent.values()]) pending.answer(undefined);
      unsubscribe();
      await kept.close();
    },
  };
}
