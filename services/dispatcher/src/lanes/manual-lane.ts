import { setTimeout as sleep } from "node:timers/promises";
import type { Broker, Consumer, IncomingMessage } from "@herald/common/broker/broker";
import type { Log } from "@herald/common/telemetry/log";
import { isUuid, type ManualReply, type ManualRequest } from "@herald/contracts";
import type { Deliver } from "../delivery/deliver.ts";
import { readJson } from "../read-json.ts";
import type { ClaimedDelivery } from "../sql/claimed-delivery.ts";
import { type Lane, SLOW_AFTER_MS } from "./budget.ts";
import type { EndpointSlots } from "./endpoint-slots.ts";
import { manualCaps } from "./manual-caps.ts";
import type { Scheduler } from "./scheduler.ts";

interface Parts {
  broker: Broker;
  lane: Lane;
  scheduler: Pick<Scheduler, "add" | "released">;
  slots: Pick<EndpointSlots, "takeBeyond" | "releaseBeyond">;
  claim: (request: ManualRequest) => Promise<ClaimedDelivery | undefined>;
  /** Makes a delivery due at once, which is not attempted for its request. */
  handOver: (deliveryId: string) => Promise<void>;
  /** Attempts a delivery and settles it; never rejects. */
  deliver: Deliver;
  log: Log;
}

/**
 * Consumes the requests for manual deliveries, from the exchange to which the management API alone may write. An admin waits for the answer, so they go beyond the slots of an endpoint, which its other
 * deliveries fill. They have caps of their own instead, by endpoint and by organization. What is above them is answered at once, and attempted in
 * the ordinary way.
 *
 * A request stays unacknowledged until its attempt is settled, or slow: then the broker sends the next one. So a lane full of receivers that
 * hang holds others up for a second and not longer.
 *
 * @param options.concurrency how many requests the broker sends ahead, each of which has its place in the lane
 */
export function consumeManualRequests(
  { broker, lane, scheduler, slots, claim, handOver, deliver, log }: Parts,
  { concurrency }: { concurrency: number },
): Consumer {
  const { requestsExchange: exchange, manualQueue: queue } = broker.names;
  const caps = manualCaps(concurrency);
  const underWay = new Set<Promise<void>>();

  async function serve(request: ManualRequest, message: IncomingMessage): Promise<void> {
    const { deliveryId, endpointId, organizationId } = request;
    const place = lane.begin(organizationId);
    slots.takeBeyond(endpointId);
    let attempting = true;
    let slow: NodeJS.Timeout | undefined;

    /** The receiver is free for the next one. */
    function end(): void {
      if (!attempting) return;
      attempting = false;
      clearTimeout(slow);
      place.ended();
      caps.leave(endpointId, organizationId);
      slots.releaseBeyond(endpointId);
      scheduler.released(endpointId);
    }
    try {
      const delivery = await claim(request);
      if (delivery) {
        slow = setTimeout(() => {
          place.slow();
          message.ack();
        }, SLOW_AFTER_MS);
        await deliver(delivery, end);
      }
      answer(message, { deliveryId, attempted: delivery !== undefined });
    } finally {
      end();
      place.settled();
    }
  }

  async function refuse({ deliveryId, endpointId, organizationId }: ManualRequest, message: IncomingMessage) {
    answer(message, { deliveryId, attempted: false });
    try {
      await handOver(deliveryId);
      scheduler.add({ endpointId, organizationId });
    } catch (error) {
      log.warn("a manual delivery that has to wait comes half a minute late", { deliveryId, endpointId, error });
    }
  }

  function answer(message: IncomingMessage, reply: ManualReply): void {
    message.reply(Buffer.from(JSON.stringify(reply)));
    message.ack();
  }

  function take({ endpointId, organizationId }: ManualRequest): boolean {
    if (!caps.enter(endpointId, organizationId)) return false;
    if (lane.takeUpTo(organizationId, 1) === 1) return true;
    caps.leave(endpointId, organizationId);
    return false;
  }

  const consumer = broker.consume({
    queue,
    prefetch: concurrency,
    async handle(message) {
      if (message.exchange !== exchange) {
        log.warn(
          "a request for a manual delivery came by another way than the management API sends it, and was dropped",
          {
            queue,
            exchange: message.exchange,
          },
        );
        message.ack();
        return;
      }
      const request = readRequest(message.content);
      if (request === undefined) {
        log.warn("a request for a manual delivery can't be read and was dropped", { queue });
        message.ack();
        return;
      }
      const serving = (take(request) ? serve(request, message) : refuse(request, message)).finally(() =>
        underWay.delete(serving),
      );
      underWay.add(serving);
      await serving;
    },
  });
  return {
    async close(options = {}) {
      const late = sleep(options.drainTimeoutMs ?? 0, undefined, { ref: false });
      await consumer.close(options);
      // Those that were acknowledged early.
      await Promise.race([Promise.allSettled(underWay), late]);
    },
  };
}

function readRequest(content: Buffer): ManualRequest | undefined {
  const { deliveryId, endpointId, organizationId } = readJson<ManualRequest>(content);
  if (!isUuid(deliveryId) || !isUuid(endpointId) || typeof organizationId !== "string") return undefined;
  // As PostgreSQL writes ids: what is counted for an endpoint is counted by this text.
  return { deliveryId: deliveryId.toLowerCase(), endpointId: endpointId.toLowerCase(), organizationId };
}
