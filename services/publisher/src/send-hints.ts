import type { Sender } from "@herald/common/broker/broker";
import type { Names } from "@herald/common/broker/topology";
import type { Hint } from "@herald/contracts";
import type { PublisherMetrics } from "./metrics.ts";
import { HINT_LEASE_MS } from "./sql/store-events.ts";

/**
 * Sends dispatchers a hint for each endpoint that got deliveries. A hint that can't be sent at once is dropped: the due scan finds its
 * endpoint seconds later.
 */
export function sendHints(
  { sender, names, metrics }: { sender: Sender; names: Names; metrics: Pick<PublisherMetrics, "hints"> },
  hints: readonly Hint[],
): void {
  for (const hint of hints) {
    const sent = sender.send({
      exchange: names.dispatchExchange,
      routingKey: names.hintsQueue,
      content: Buffer.from(JSON.stringify(hint)),
      // While no dispatcher runs, bodies must not gather in the broker's memory.
      ...(hint.delivery && { expiresAfterMs: HINT_LEASE_MS }),
    });
    metrics.hints.inc({ result: sent ? "sent" : "dropped" });
  }
}
