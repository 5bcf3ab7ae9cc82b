import type { Broker, Consumer } from "@herald/common/broker/broker";
import type { Log } from "@herald/common/telemetry/log";
import { type Hint, isUuid } from "@herald/contracts";
import type { Hinted } from "./hinted.ts";
import { readJson } from "./read-json.ts";
import type { Scheduler } from "./scheduler.ts";

interface Parts {
  broker: Broker;
  log: Log;
  scheduler: Pick<Scheduler, "add" | "offer">;
  hinted: Pick<Hinted, "read" | "giveBack">;
}

/** Hints that the broker sends ahead. Each is acknowledged at once, so they are few only to be shared with other dispatchers. */
const HINT_PREFETCH = 100;

/**
 * Consumes the hints that an endpoint has work. One that brings a delivery with it may have that attempted without a claim; whatever is
 * unusual goes the ordinary way. A hint that is lost or repeated does no harm: the rows say what is due.
 */
export function consumeHints({ broker, scheduler, hinted, log }: Parts): Consumer {
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
