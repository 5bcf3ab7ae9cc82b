import type { Channel, ConsumeMessage } from "amqplib";
import { shareOut } from "./spare-consumers.ts";

export interface SpareConsumers {
  /** How many spare consumers there are, for all queues together. */
  consumers: number;
  /** How many messages each spare consumer may hold unsettled. */
  prefetch: number;
  /** The queues that they may go to; all where absent. */
  queues?: readonly string[];
}

const NO_SPARE: SpareConsumers = { consumers: 0, prefetch: 0 };

export interface QueueConsumersOptions {
  queues: readonly string[];
  /** How many messages of a queue may be unsettled at once, besides those of its spare consumers. */
  prefetchOf(queue: string): number;
  spare?: SpareConsumers | undefined;
  deliver(message: ConsumeMessage, queue: string): void;
  /** Called when the broker has cancelled a consumer, since its queue was deleted. */
  cancelled(queue: string): void;
}

/** The consumers of one channel: each queue keeps one, and spare consumers move to the queues that have messages. */
export interface QueueConsumers {
  /** @throws where a queue can't be consumed */
  start(): Promise<void>;
  /** To be called when a message is settled. */
  settled(message: ConsumeMessage): void;
  /** Asks the broker to send no more messages. */
  cancel(): Promise<unknown>;
  /** To be called when the channel has ended. */
  abandon(): void;
}

interface ConsumedQueue {
  queue: string;
  /** How many messages the queue's own consumer may hold. */
  prefetch: number;
  /** How many spare consumers the queue has. */
  spares: StartedConsumer[];
  /** How many messages the queue's consumers hold unsettled. */
  held: number;
  /** The largest number of unsettled messages since the spare consumers were last assigned. */
  peak: number;
}

/** A consumer, from its start until the last of its messages is settled. */
interface StartedConsumer {
  tag: string;
  source: ConsumedQueue;
  held: number;
  /** "leaving": the broker was asked to cancel the consumer. "left": the broker has answered. */
  state: "active" | "leaving" | "left";
}

/** How often spare consumers may move, in milliseconds. Each move costs the broker two writes to its log. */
const MOVE_INTERVAL_MS = 100;

/**
 * What the channel may hold is bounded by the sum of all prefetches, also while a spare consumer moves: the broker may have sent what
 * it was allowed to, so the next one starts when the last message of the one before is settled.
 */
export function queueConsumers(
  channel: Pick<Channel, "prefetch" | "consume" | "cancel">,
  { queues, prefetchOf, spare = NO_SPARE, deliver, cancelled }: QueueConsumersOptions,
): QueueConsumers {
  const consumedQueues = queues.map(
    (queue): ConsumedQueue => ({ queue, prefetch: prefetchOf(queue), spares: [], held: 0, peak: 0 }),
  );
  const byTag = new Map<string, StartedConsumer>();
  let started = 0;
  let free = spare.consumers;
  let moves = 0;
  let moveTimer: NodeJS.Timeout | undefined;
  let ended = false;

  function register(source: ConsumedQueue): StartedConsumer {
    started++;
    const consumer: StartedConsumer = { tag: `${source.queue} ${started}`, source, held: 0, state: "active" };
    byTag.set(consumer.tag, consumer);
    return consumer;
  }

  async function consume({ tag, source: { queue } }: StartedConsumer): Promise<void> {
    await channel.consume(
      queue,
      (message) => {
        if (message === null) return cancelled(queue);
        arrived(message);
        deliver(message, queue);
      },
      { consumerTag: tag },
    );
  }

  function arrived({ fields }: ConsumeMessage): void {
    const consumer = byTag.get(fields.consumerTag);
    if (consumer === undefined) return;
    consumer.held++;
    if (consumer.state !== "active") return;
    const { source } = consumer;
    source.held++;
    source.peak = Math.max(source.peak, source.held);
    // Without messages nothing has to move, and an idle process sleeps.
    if (spare.consumers > 0 && !ended) moveTimer ??= setTimeout(move, MOVE_INTERVAL_MS);
  }

  function move(): void {
    moveTimer = undefined;
    const uses = consumedQueues.map(({ queue, prefetch, peak, spares }) => ({
      prefetch,
      // A queue that seems idle gets none.
      peak: spare.queues === undefined || spare.queues.includes(queue) ? peak : 0,
      spares: spares.length,
    }));
    const first = moves++ % consumedQueues.length;
    const target = shareOut(uses, { total: spare.consumers, first, sparePrefetch: spare.prefetch });
    for (const [index, source] of consumedQueues.entries()) {
      for (const consumer of source.spares.splice(target[index] as number)) void leave(consumer);
    }
    for (const [index, source] of consumedQueues.entries()) {
      while (free > 0 && source.spares.length < (target[index] as number)) {
        free--;
        const consumer = register(source);
        source.spares.push(consumer);
        consume(consumer).catch(ignoreEnd);
      }
      source.peak = source.held;
    }
  }

  async function leave(consumer: StartedConsumer): Promise<void> {
    consumer.state = "leaving";
    consumer.source.held -= consumer.held;
    try {
      await channel.cancel(consumer.tag);
    } catch {
      return ignoreEnd();
    }
    consumer.state = "left";
    freeIfEmpty(consumer);
  }

  function freeIfEmpty({ tag, held, state }: StartedConsumer): void {
    if (held > 0 || state !== "left") return;
    byTag.delete(tag);
    free++;
  }

  return {
    async start() {
      // The prefetch of a channel is that of each consumer which starts after it. Requests are sent in the order of these calls, so a spare
      // consumer that starts meanwhile, since messages come already, has its own.
      await Promise.all([
        ...consumedQueues.flatMap((source) => [channel.prefetch(source.prefetch), consume(register(source))]),
        channel.prefetch(spare.prefetch),
      ]);
    },
    settled: ({ fields }) => {
      const consumer = byTag.get(fields.consumerTag);
      if (consumer === undefined) return;
      consumer.held--;
      if (consumer.state === "active") consumer.source.held--;
      else freeIfEmpty(consumer);
    },
    cancel: () => {
      ended = true;
      clearTimeout(moveTimer);
      return Promise.all(
        [...byTag.values()].map(({ tag, state }) => (state === "left" ? undefined : channel.cancel(tag))),
      );
    },
    abandon: () => {
      ended = true;
      clearTimeout(moveTimer);
    },
  };
}

/** Ignores the failure of a request on a channel that ends: the code that opened the channel handles the end. */
function ignoreEnd(): void {}
