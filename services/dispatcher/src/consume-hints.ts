import type { Broker, Consumer, IncomingMessage } from "@herald/common/broker/broker";
import type { Log } from "@herald/common/telemetry/log";
import { type Hint, isUuid, type ManualReply } from "@herald/contracts";
import type { Backlog } from "./backlog.ts";
import type { Deliver } from "./deliver.ts";
import type { EndpointSlots } from "./endpoint-slots.ts";
import type { ClaimedDelivery } from "./sql/claim.ts";

interface Parts {
  broker: Broker;
  slots: EndpointSlots;
  backlog: Backlog;
  /** Claims the hinted delivery; undefined where there is nothing to do, or no longer. */
  claim: (hint: Hint) => Promise<ClaimedDelivery | undefined>;
  deliver: Deliver;
  log: Log;
}

interface Source {
  queue: string;
  /** Hints of this source under way at once. */
  concurrency: number;
}

/** After this time an attempt counts as slow. A healthy receiver answers much earlier. */
const SLOW_AFTER_MS = 1_000;

/**
 * Consumes the hints of new deliveries. A hint is acknowledged when its attempt is settled, so that the prefetch limits the
 * attempts in flight. Two kinds of hints must not delay the others, and are acknowledged early; PostgreSQL has their
 * deliveries:
 * - a hint whose endpoint has no free slot: its delivery is left to the backlog;
 * - a hint whose attempt is slow, while fewer than `maxInFlight` attempts are in flight. Without this, receivers that hang
 *   would fill the prefetch, ten slots each, for the fifteen seconds until they time out.
 */
export function consumeFirstHints(parts: Parts, source: Source, { maxInFlight }: { maxInFlight: number }): Consumer {
  const { slots, backlog, claim, deliver } = parts;
  const inFlight = new Set<Promise<void>>();

  async function attempt({ deliveryId, endpointId }: Hint, message: IncomingMessage): Promise<void> {
    const slow = setInterval(() => {
      if (slots.total() < maxInFlight) message.ack();
    }, SLOW_AFTER_MS);
    try {
      const delivery = await claim({ deliveryId, endpointId });
      if (delivery) await deliver(delivery);
      message.ack();
    } finally {
      clearInterval(slow);
      slots.release(endpointId);
      backlog.released(endpointId);
    }
  }

  const consumer = consumeHints(parts, source, async (hint, message) => {
    if (slots.takeUpTo(hint.endpointId, 1) === 0) {
      backlog.add(hint.endpointId);
      message.ack();
      return;
    }
    const attempting = attempt(hint, message);
    inFlight.add(attempting);
    await attempting.finally(() => inFlight.delete(attempting));
  });
  return {
    async close(options) {
      await consumer.close(options);
      await Promise.allSettled(inFlight);
    },
  };
}

/** Consumes the hints of manual deliveries. An admin waits for the answer, so no endpoint's cap delays one. */
export function consumeManualHints(parts: Parts, source: Source): Consumer {
  const { slots, backlog, claim, deliver } = parts;
  return consumeHints(parts, source, async (hint, message) => {
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
  { queue, concurrency }: Source,
  handle: (hint: Hint, message: IncomingMessage) => Promise<void>,
): Consumer {
  return broker.consume({
    queue,
    prefetch: concurrency,
    async handle(message) {
      const hint = readHint(message.content);
      if (hint === undefined) {
        // No delivery is lost with the hint: PostgreSQL knows what is due.
        log.warn("a hint can't be read and was dropped", { queue });
        message.ack();
        return;
      }
      await handle(hint, message);
    },
  });
}

function readHint(content: Buffer): Hint | undefined {
  try {
    const { deliveryId, endpointId } = JSON.parse(content.toString("utf8")) as Partial<Hint>;
    return isUuid(deliveryId) && isUuid(endpointId) ? { deliveryId, endpointId } : undefined;
  } catch {
    return undefined;
  }
}
