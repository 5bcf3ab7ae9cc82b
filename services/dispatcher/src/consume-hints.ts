import type { Broker, Consumer, IncomingMessage } from "@herald/common/broker/broker";
import type { Log } from "@herald/common/telemetry/log";
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

/** From then on an attempt counts as slow, in milliseconds. A healthy receiver answers long before. */
const SLOW_AFTER_MS = 1_000;

/**
 * The first door: hints of new deliveries. A hint is acknowledged when its attempt is settled, so that the prefetch
 * bounds the attempts in flight. Two kinds of hints must not hold up the others, and are acknowledged early; PostgreSQL
 * has their deliveries:
 * - one whose endpoint has no slot free is left to the backlog;
 * - one whose attempt is slow, as long as fewer than `maxInFlight` are in flight. Else receivers that hang would, ten
 *   slots each, fill the prefetch for the fifteen seconds until they time out.
 */
export function consumeFirstHints(parts: Parts, lane: Lane, { maxInFlight }: { maxInFlight: number }): Consumer {
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

  const consumer = consumeHints(parts, lane, async (hint, message) => {
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
