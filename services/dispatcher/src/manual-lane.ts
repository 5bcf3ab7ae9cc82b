import type { Broker, Consumer } from "@herald/common/broker/broker";
import type { Log } from "@herald/common/telemetry/log";
import { isUuid, type ManualReply, type ManualRequest } from "@herald/contracts";
import type { EndpointSlots } from "./endpoint-slots.ts";
import { readJson } from "./read-json.ts";
import type { Scheduler } from "./scheduler.ts";
import type { ClaimedDelivery } from "./sql/claimed-delivery.ts";

interface Parts {
  broker: Broker;
  log: Log;
  scheduler: Pick<Scheduler, "released">;
  slots: Pick<EndpointSlots, "takeBeyond" | "release">;
  claim: (deliveryId: string) => Promise<ClaimedDelivery | undefined>;
  /** Attempts a delivery and settles it; never rejects. */
  deliver: (delivery: ClaimedDelivery) => Promise<void>;
}

/** Consumes the requests for manual deliveries. An admin waits for the answer, so no endpoint's cap delays one. */
export function consumeManualRequests(
  { broker, scheduler, slots, claim, deliver, log }: Parts,
  { concurrency }: { concurrency: number },
): Consumer {
  const queue = broker.names.manualQueue;
  return broker.consume({
    queue,
    prefetch: concurrency,
    async handle(message) {
      const { deliveryId, endpointId } = readJson<ManualRequest>(message.content);
      if (!isUuid(deliveryId) || !isUuid(endpointId)) {
        log.warn("a request for a manual delivery can't be read and was dropped", { queue });
        message.ack();
        return;
      }
      slots.takeBeyond(endpointId);
      try {
        const delivery = await claim(deliveryId);
        if (delivery) await deliver(delivery);
        const reply: ManualReply = { deliveryId, attempted: delivery !== undefined };
        message.reply(Buffer.from(JSON.stringify(reply)));
        message.ack();
      } finally {
        slots.release(endpointId);
        scheduler.released(endpointId);
      }
    },
  });
}
