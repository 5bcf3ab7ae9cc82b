import type { Sender } from "@herald/common/broker/broker";
import type { Hint } from "@herald/contracts";
import type { PublisherMetrics } from "./metrics.ts";

/**
 * Tells dispatchers that endpoints got deliveries. A hint that can't be sent at once is dropped: the due scan finds its
 * endpoint a second later.
 */
export function sendHints(
  { sender, queue, metrics }: { sender: Sender; queue: string; metrics: Pick<PublisherMetrics, "hints"> },
  endpointIds: readonly string[],
): void {
  for (const endpointId of endpointIds) {
    const hint: Hint = { endpointId };
    const sent = sender.send({ exchange: "", routingKey: queue, content: Buffer.from(JSON.stringify(hint)) });
    metrics.hints.inc({ result: sent ? "sent" : "dropped" });
  }
}
