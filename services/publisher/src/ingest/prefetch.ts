import type { ConsumerOptions } from "@herald/common/broker/broker";
import { MAX_EVENT_BYTES } from "@herald/contracts";

/** Enough for eight busy queues. A single busy queue gets all: a quorum queue is slow with less than fifty messages on their way. */
const SPARE_CONSUMERS = 8;

/** The part of the messages for the inbox queues' own consumers; the rest goes to the queues that are busy. */
const OWN_PART = 1 / 3;

/** For the second queue of a bucket. A message of it is a whole batch of events: one is being stored, and one waits. */
export const BEHIND_PREFETCH = 2;

interface Prefetch extends Required<Pick<ConsumerOptions, "spare">> {
  /** For the own consumer of an inbox queue. */
  prefetch: number;
}

/**
 * RabbitMQ's prefetch counts messages, and no bytes. So a process takes as many as it has room for where each is as large as an event
 * may be: what is small now may be large in a moment. Shared out evenly, 512 MiB would leave 16 messages to a queue, and a single busy queue would
 * be stored at a fraction of what PostgreSQL can do. So most of them go by spare consumers to the queues that are busy: there is no prefetch for
 * several quorum queues together.
 *
 * @param buckets how many inbox queues there are, each with a second queue
 */
export function prefetchOf(inboxBytes: number, buckets: number): Prefetch {
  const messages = Math.floor(inboxBytes / MAX_EVENT_BYTES) - buckets * BEHIND_PREFETCH;
  const prefetch = Math.max(1, Math.floor((messages * OWN_PART) / buckets));
  const rest = messages - prefetch * buckets;
  return { prefetch, spare: { consumers: SPARE_CONSUMERS, prefetch: Math.floor(rest / SPARE_CONSUMERS) } };
}
