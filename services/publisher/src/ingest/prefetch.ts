import { MAX_EVENT_BYTES } from "@herald/contracts";

/** For the second queue of a bucket. A message of it is a whole batch of events: one is being stored, and one waits. */
export const BEHIND_PREFETCH = 2;

/**
 * For an inbox queue whose messages are small. What is handed over on arrival is held for up to 300 ms where there is no crowd, so one busy queue has
 * some 2,000 events a second.
 */
export const PREFETCH_WHILE_SMALL = 500;
export const SMALL_BYTES = 16 * 1024;

/**
 * For an inbox queue: so many that all fit where each is as large as an event may be. RabbitMQ's prefetch counts messages, and no bytes.
 *
 * @param buckets how many inbox queues there are, each with a second queue
 */
export function prefetchOf(inboxBytes: number, buckets: number): number {
  return Math.max(1, Math.floor(inboxBytes / MAX_EVENT_BYTES / buckets) - BEHIND_PREFETCH);
}
