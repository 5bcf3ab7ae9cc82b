import type { IncomingMessage, Publisher } from "@herald/common/broker/broker";
import { carriedHeaders } from "@herald/common/broker/carried-headers";
import { BUNDLE, behindQueueOf } from "@herald/common/broker/topology";
import { MAX_EVENT_BYTES } from "@herald/contracts";
import type { PublisherMetrics } from "../metrics.ts";
import { batchesByTurns } from "./batches.ts";
import type { Held, Message } from "./read-event.ts";

interface Parts {
  publisher: Publisher;
  metrics: PublisherMetrics;
  /** Takes an event that can't be moved now. */
  stay: (held: Held) => void;
}

/**
 * Moves the events of a flood to the second queue of their bucket.
 *
 * Moves them in bundles: one by one, it would cost as much as to store them, and make the flood itself slower. A bundle is confirmed in the second
 * queue before the messages of its events are settled. If this process dies between the two, the events come twice, which changes nothing.
 */
export function moveBehind({ publisher, metrics, stay }: Parts, { maxItems }: { maxItems: number }) {
  const moves = batchesByTurns<{ held: Held; entry: Buffer }>(
    async (batch) => {
      for (const queue of new Set(batch.map(({ held }) => held.queue))) {
        const moved = batch.filter(({ held }) => held.queue === queue);
        const content = Buffer.concat(moved.map(({ entry }) => entry));
        try {
          await publisher.publish({ exchange: "", routingKey: behindQueueOf(queue), content, type: BUNDLE });
        } catch {
          // The second queue is full, or the broker away.
          for (const { held } of moved) stay(held);
          continue;
        }
        metrics.events.inc({ result: "behind" }, moved.length);
        for (const { held } of moved) held.done();
      }
    },
    {
      maxItems,
      // So a message of the second queue is about as large as one of the first, and a consumer exceeds its `maxBytes` by no more.
      maxBytes: MAX_EVENT_BYTES,
      maxRunning: 1,
      maxApart: 1,
      bytesOf: ({ entry }) => entry.byteLength,
      groupOf: ({ held }) => held.queue,
    },
  );

  return {
    /** Moves an event, and is then done with it. If that fails, the event is stored in its turn. */
    add: (held: Held) => moves.add({ held, entry: bundleEntry(held.message) }),
    /** Removes the events that wait for their bundle, and returns them. */
    drop: () => moves.drop().map(({ held }) => held),
  };
}

/** The events of a message from a second queue; undefined if the message is no bundle, but a single event. */
export function bundledIn({ content, properties }: IncomingMessage): Message[] | undefined {
  if (properties.type !== BUNDLE) return undefined;
  try {
    return unbundle(content);
  } catch {
    return undefined;
  }
}

/** Bytes in front of an entry: the lengths of its headers and of its content. */
const LENGTHS_BYTES = 8;

/**
 * The entry of an event in a bundle; a bundle is entries in a row. To move a bundle costs the broker as much as to move one event. The content stays
 * as it is, since an event is judged later.
 */
export function bundleEntry({ content, headers }: Message): Buffer {
  const carried = Buffer.from(JSON.stringify(carriedHeaders(headers)));
  const lengths = Buffer.alloc(LENGTHS_BYTES);
  lengths.writeUInt32BE(carried.byteLength, 0);
  lengths.writeUInt32BE(content.byteLength, 4);
  return Buffer.concat([lengths, carried, content]);
}

/** @throws if the bytes are no bundle */
export function unbundle(bundle: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < bundle.byteLength; ) {
    const headersAt = at + LENGTHS_BYTES;
    const contentAt = headersAt + bundle.readUInt32BE(at);
    const end = contentAt + bundle.readUInt32BE(at + 4);
    if (end > bundle.byteLength) throw new Error("the bundle is cut off");
    const headers: Message["headers"] = JSON.parse(bundle.toString("utf8", headersAt, contentAt));
    messages.push({ headers, content: bundle.subarray(contentAt, end) });
    at = end;
  }
  return messages;
}
