import type { Broker, Consumer } from "@herald/common/broker/broker";
import type { Log } from "@herald/common/telemetry/log";
import { type Hint, isUuid, type ManualReply, type ManualRequest } from "@herald/contracts";
import type { EndpointSlots } from "./endpoint-slots.ts";
import type { Hinted } from "./hinted.ts";
import type { Scheduler } from "./scheduler.ts";
import type { ClaimedDelivery } from "./sql/claimed-delivery.ts";

interface Parts {
  broker: Broker;
  log: Log;
}

interface HintParts extends Parts {
  scheduler: Pick<Scheduler, "add" | "offer">;
  hinted: Pick<Hinted, "read" | "giveBack">;
}

/** Hints that the broker sends ahead. Each is acknowledged at once, so they are few only to be shared with other dispatchers. */
const HINT_PREFETCH = 100;

/**
 * Consumes the hints that an endpoint has work. One that brings a delivery with it may have that attempted without a claim; whatever is
 * unusual goes the ordinary way. A hint that is lost or repeated does no harm: the rows say what is due.
 */
export function consumeHints({ broker, scheduler, hinted, log }: HintParts): Consumer {
  const queue = broker.names.hintsQueue;

  async function follow(endpointId: string, delivery: Hint["delivery"]): Promise<void> {
    if (isUuid(delivery?.deliveryId)) {
      const ready = hinted.read(endpointId, delivery);
      if (ready && scheduler.offer(ready)) return;
      await hinted.giveBack(delivery.deliveryId);
    }
    scheduler.add(endpointId);
  }

  return broker.consume({
    queue,
    prefetch: HINT_PREFETCH,
    handle(message) {
      message.ack();
      const { endpointId, delivery } = readJson<Hint>(message.content);
      if (isUuid(endpointId)) void follow(endpointId, delivery);
      else log.warn("a hint can't be read and was dropped", { queue });
    },
  });
}

interface ManualParts extends Parts {
  scheduler: Pick<Scheduler, "released">;
  slots: Pick<EndpointSlots, "takeBeyond" | "release">;
  claim: (deliveryId: string) => Promise<ClaimedDelivery | undefined>;
  /** Attempts a delivery and settles it; never rejects. */
  deliver: (delivery: ClaimedDelivery) => Promise<void>;
}

/** Consumes the requests for manual deliveries. An admin waits for the answer, so no endpoint's cap delays one. */
export function consumeManualRequests(
  { broker, scheduler, slots, claim, deliver, log }: ManualParts,
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

/** No delivery is lost with a message that can't be read: PostgreSQL knows what is due. */
function readJson<T>(content: Buffer): Partial<T> {
  try {
    return (JSON.parse(content.toString("utf8")) ?? {}) as Partial<T>;
  } catch {
    return {};
  }
}
