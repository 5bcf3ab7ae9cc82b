import type { Channel, ConsumeMessage } from "amqplib";
import { shareOut } from "./spare-consumers.ts";

export interface SpareConsumers {
  /** How many there are, for all queues together. */
  consumers: number;
  /** How many messages each of them may hold unsettled. */
  prefetch: number;
}

export interface QueueConsumersOptions {
  queues: readonly string[];
  /** How many messages of each queue may be unsettled at once, besides those of its spare consumers. */
  prefetch: number;
  spare?: SpareConsumers | undefined;
  deliver(message: ConsumeMessage, queue: string): void;
  /** The broker has cancelled a consumer: its queue is gone. */
  cancelled(queue: string): void;
}

/** The consumers of one channel: one for each queue for good, and spare ones that go to where the messages are. */
export interface QueueConsumers {
  /** @throws where a queue can't be consumed */
  start(): Promise<void>;
  /** A message is settled. */
  settled(message: ConsumeMessage): void;
  /** Tells the broker to send no more. */
  cancel(): Promise<unknown>;
  /** The channel is gone. */
  abandon(): void;
}

interface Place {
  queue: string;
  /** Spare consumers there. */
  spares: Assigned[];
  /** Messages that its consumers hold unsettled. */
  held: number;
  /** The most since the last look. */
  peak: number;
}

/** A consumer, from its start until the last of its messages is settled. */
interface Assigned {
  tag: string;
  place: Place;
  held: number;
  /** The broker has been told to send it no more; it has "left" when the broker has answered. */
  state: "active" | "leaving" | "left";
}

/** How often spare consumers may move, in milliseconds. To move one costs the broker a write to its log, twice. */
const LOOK_MS = 100;

/**
 * What the channel may hold is bounded by the sum of all prefetches, also while a spare consumer moves: the broker may have sent what
 * it was allowed to, so the next one starts when the last message of the one before is settled.
 */
export function queueConsumers(
  channel: Pick<Channel, "prefetch" | "consume" | "cancel">,
  { queues, prefetch, spare = { consumers: 0, prefetch: 0 }, deliver, cancelled }: QueueConsumersOptions,
): QueueConsumers {
  const places = queues.map((queue): Place => ({ queue, spares: [], held: 0, peak: 0 }));
  const byTag = new Map<string, Assigned>();
  let started = 0;
  let free = spare.consumers;
  let looks = 0;
  let look: NodeJS.Timeout | undefined;
  let ended = false;

  function assign(place: Place): Assigned {
    started++;
    const assigned: Assigned = { tag: `${place.queue} ${started}`, place, held: 0, state: "active" };
    byTag.set(assigned.tag, assigned);
    return assigned;
  }

  async function consume({ tag, place: { queue } }: Assigned): Promise<void> {
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
    const assigned = byTag.get(fields.consumerTag);
    if (assigned === undefined) return;
    assigned.held++;
    if (assigned.state !== "active") return;
    const { place } = assigned;
    place.held++;
    place.peak = Math.max(place.peak, place.held);
    // Without messages nothing has to move, and an idle process sleeps.
    if (spare.consumers > 0 && !ended) look ??= setTimeout(move, LOOK_MS);
  }

  function move(): void {
    look = undefined;
    const uses = places.map(({ peak, spares }) => ({ peak, spares: spares.length }));
    const first = looks++ % places.length;
    const target = shareOut(uses, { total: spare.consumers, first, prefetch, sparePrefetch: spare.prefetch });
    for (const [index, place] of places.entries()) {
      for (const assigned of place.spares.splice(target[index] as number)) void leave(assigned);
    }
    for (const [index, place] of places.entries()) {
      while (free > 0 && place.spares.length < (target[index] as number)) {
        free--;
        const assigned = assign(place);
        place.spares.push(assigned);
        consume(assigned).catch(ignoreEnd);
      }
      place.peak = place.held;
    }
  }

  async function leave(assigned: Assigned): Promise<void> {
    assigned.state = "leaving";
    assigned.place.held -= assigned.held;
    try {
      await channel.cancel(assigned.tag);
    } catch {
      return ignoreEnd();
    }
    assigned.state = "left";
    freeIfEmpty(assigned);
  }

  function freeIfEmpty({ tag, held, state }: Assigned): void {
    if (held > 0 || state !== "left") return;
    byTag.delete(tag);
    free++;
  }

  return {
    async start() {
      // The prefetch of a channel is that of each consumer which starts after it.
      await channel.prefetch(prefetch);
      await Promise.all(places.map((place) => consume(assign(place))));
      if (spare.consumers > 0) await channel.prefetch(spare.prefetch);
    },
    settled: ({ fields }) => {
      const assigned = byTag.get(fields.consumerTag);
      if (assigned === undefined) return;
      assigned.held--;
      if (assigned.state === "active") assigned.place.held--;
      else freeIfEmpty(assigned);
    },
    cancel: () => {
      ended = true;
      clearTimeout(look);
      return Promise.all(
        [...byTag.values()].map(({ tag, state }) => (state === "left" ? undefined : channel.cancel(tag))),
      );
    },
    abandon: () => {
      ended = true;
      clearTimeout(look);
    },
  };
}

/** A request on a channel that ends. The end itself is seen by whoever opened the channel. */
function ignoreEnd(): void {}
