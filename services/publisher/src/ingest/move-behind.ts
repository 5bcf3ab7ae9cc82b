import type { IncomingMessage, Publisher } from "@herald/common/broker/broker";
import { behindQueueOf } from "@herald/common/broker/topology";
import { MAX_EVENT_BYTES } from "@herald/contracts";
import type { PublisherMetrics } from "../metrics.ts";
import { batchesByTurns } from "./batches.ts";
import { bundleEntry, type Message, unbundle } from "./bundle.ts";
import type { Held } from "./held.ts";

interface Parts {
  publisher: Publisher;
  metrics: PublisherMetrics;
  /** Takes an event that can't be moved now. */
  stay: (held: Held) => void;
}

/** The type of a message that is a bundle of events. */
const BUNDLE = "bundle";

/**
 * The way of a flood's events to the second queue of their bucket.
 *
 * Moves them in bundles: one by one, it would cost as much as to store them, and make the flood itself slower. A bundle is confirmed in the
 * second queue before its events' messages are settled. Where this process dies between the two, they come twice, which changes nothing.
 */
export function moveBehind({ publisher, metrics, stay }: Parts, { maxItems }: { maxItems: number }) {
  interface Move {
    held: Held;
    entry: Buffer;
    queue: string;
  }

  const moves = batchesByTurns<Move>(
    async (batch) => {
      for (const queue of new Set(batch.map((move) => move.queue))) {
        await publishBundle(
          queue,
          batch.filter((move) => move.queue === queue),
        );
      }
    },
    {
      maxItems,
      // A bundle has no more than an event may have, by which consumers count the memory of a message.
      maxBytes: MAX_EVENT_BYTES,
      maxRunning: 1,
      maxApart: 1,
      bytesOf: ({ entry }) => entry.byteLength,
      groupOf: ({ queue }) => queue,
    },
  );

  async function publishBundle(queue: string, batch: readonly Move[]): Promise<void> {
    const content = Buffer.concat(batch.map(({ entry }) => entry));
    try {
      await publisher.publish({ exchange: "", routingKey: queue, content, type: BUNDLE });
    } catch {
      // The second queue is full, or the broker away.
      for (const { held } of batch) stay(held);
      return;
    }
    metrics.events.inc({ result: "behind" }, batch.length);
    for (const { held } of batch) held.done();
  }

  return {
    /** Moves an event, and is then done with it. Where that fails, the event is stored in its turn. */
    add: (held: Held, inboxQueue: string) =>
      moves.add({ held, entry: bundleEntry(held.message), queue: behindQueueOf(inboxQueue) }),
    /** Removes the events that wait for their bundle, and returns them. */
    drop: () => moves.drop().map(({ held }) => held),
  };
}

/** The events of a message from a second queue; undefined where it is no bundle, but an event that came alone. */
export function bundledIn({ content, properties }: IncomingMessage): Message[] | undefined {
  if (properties.type !== BUNDLE) return undefined;
  try {
    return unbundle(content);
  } catch {
    return undefined;
  }
}
