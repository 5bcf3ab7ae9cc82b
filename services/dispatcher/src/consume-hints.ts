import type { Broker, Consumer, IncomingMessage } from "@herald/common/broker";
import type { Log } from "@herald/common/telemetry";
import type { Hint, ManualReply } from "@herald/contracts";
import type { Backlog } from "./backlog.ts";
import type { Deliver } from "./deliver.ts";
import type { ClaimedDelivery } from "./delivery.ts";
import type { EndpointSlots } from "./endpoint-slots.ts";

interface Parts {
  broker: Broker;
  slots: EndpointSlots;
  backlog: Backlog;
  /** The delivery, claimed; undefined where there is nothing to do (any more). */
  claim: (hint: Hint) => Promise<ClaimedDelivery | undefined>;
  deliver: Deliver;
  log: Log;
}

interface Lane {
  queue: string;
  /** Hints of this lane under way at once. */
  concurrency: number;
}

/**
 * The first door: hints of new deliveries. A hint is acknowledged when its attempt is settled. One whose endpoint has no
 * slot free is acknowledged at once and its delivery left to the backlog, so that a slow endpoint holds up no other's hints.
 */
export function consumeFirstHints(parts: Parts, lane: Lane): Consumer {
  const { slots, backlog, claim, deliver } = parts;
  return consumeHints(parts, lane, async (hint, message) => {
    const { endpointId } = hint;
    if (slots.takeUpTo(endpointId, 1) === 0) {
      backlog.add(endpointId);
      message.ack();
      return;
    }
    try {
      const delivery = await claim(hint);
      if (delivery) await deliver(delivery);
      message.ack();
    } finally {
      slots.release(endpointId);
      backlog.released(endpointId);
    }
  });
}

/** The lane of manual deliveries: somebody waits for the answer, so no endpoint's cap holds one back. */
export function consumeManualHints(parts: Parts, lane: Lane): Consumer {
  const { slots, backlog, claim, deliver } = parts;
  return consumeHints(parts, lane, async (hint, message) => {
    const { deliveryId, endpointId } = hint;
    slots.takeBeyond(endpointId);
    try {
      const delivery = await claim(hint);
      if (delivery) await deliver(delivery);
      const reply: ManualReply = { deliveryId, attempted: delivery !== undefined };
      message.reply(Buffer.from(JSON.stringify(reply)));
      message.ack();
    } finally {
      slots.release(endpointId);
      backlog.released(endpointId);
    }
  });
}

function consumeHints(
  { broker, log }: Parts,
  { queue, concurrency }: Lane,
  handle: (hint: Hint, message: IncomingMessage) => Promise<void>,
): Consumer {
  return broker.consume({
    queue,
    prefetch: concurrency,
    async handle(message) {
      const hint = readHint(message.content);
      if (hint === undefined) {
        // Nothing is lost with it: PostgreSQL knows what is due.
        log.warn("a hint can't be read and was dropped", { queue });
        message.ack();
        return;
      }
      await handle(hint, message);
    },
  });
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function readHint(content: Buffer): Hint | undefined {
  try {
    const { deliveryId, endpointId } = JSON.parse(content.toString("utf8")) as Partial<Hint>;
    if (typeof deliveryId !== "string" || !UUID.test(deliveryId)) return undefined;
    if (typeof endpointId !== "string" || !UUID.test(endpointId)) return undefined;
    return { deliveryId, endpointId };
  } catch {
    return undefined;
  }
}
