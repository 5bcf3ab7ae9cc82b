import type { ConsumerOptions } from "@herald/common/broker/broker";
import { MAX_EVENT_BYTES } from "@herald/contracts";

/** Enough for eight busy queues. A single busy queue gets all: a quorum queue is slow with less than fifty messages on their way. */
const SPARE_CONSUMERS = 8;

/** The part of the messages for the queues' own consumers; the rest goes to the queues that are busy. */
const OWN_PART = 1 / 3;

/**
 * RabbitMQ's prefetch counts messages, and no bytes. So a process takes as many as it has room for where each is as large as an event
 * may be: what is small now may be large in a moment.
 */
export function prefetchOf(inboxBytes: number, queues: number): Required<Pick<ConsumerOptions, "prefetch" | "spare">> {
  const messages = Math.floor(inboxBytes / MAX_EVENT_BYTES);
  const prefetch = Math.max(1, Math.floor((messages * OWN_PART) / queues));
  const rest = messages - prefetch * queues;
  return { prefetch, spare: { consumers: SPARE_CONSUMERS, prefetch: Math.floor(rest / SPARE_CONSUMERS) } };
}
