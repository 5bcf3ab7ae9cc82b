import type { Publisher } from "@herald/common/broker/broker";
import { carriedHeaders } from "@herald/common/broker/carried-headers";
import type { PublisherMetrics } from "../metrics.ts";
import type { Held } from "./held.ts";

/**
 * Moves an event to another inbox queue, and settles its message once it is there. It goes to the queue and not to the exchange, since other
 * programs may have bound their own queues there, and would get it twice.
 *
 * @throws NotSentError where the broker does not take it; the message is unsettled then
 */
export async function forward(
  { publisher, metrics }: { publisher: Publisher; metrics: PublisherMetrics },
  { message, done }: Held,
  { queue, result }: { queue: string; result: "forwarded" | "behind" },
): Promise<void> {
  const { content, headers } = message;
  await publisher.publish({ exchange: "", routingKey: queue, content, headers: carriedHeaders(headers) });
  metrics.events.inc({ result });
  message.ack();
  done();
}
