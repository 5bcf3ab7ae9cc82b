import type { Publisher } from "@herald/common/broker/broker";
import { carriedHeaders } from "@herald/common/broker/carried-headers";
import type { Message } from "./bundle.ts";

/**
 * Sends an event to another queue of the inbox. It goes to the queue and not to the exchange, since other programs may have bound their own
 * queues there, and would get it twice.
 *
 * @throws NotSentError where the broker does not take it
 */
export async function forward(publisher: Publisher, { content, headers }: Message, queue: string): Promise<void> {
  await publisher.publish({ exchange: "", routingKey: queue, content, headers: carriedHeaders(headers) });
}
