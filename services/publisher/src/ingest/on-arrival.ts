import { deliveryId } from "@herald/common/database/ids";
import type { Clock } from "@herald/common/runtime/clock";
import type { FanOutResult } from "../fan-out.ts";
import { type ForOwners, MAX_BODY_BYTES, type NewDelivery } from "../hand-over.ts";
import { createDirectory } from "./directory.ts";
import type { IncomingEvent } from "./read-event.ts";

interface Parts {
  clock: Clock;
  handOver: (made: ForOwners) => void;
}

/**
 * Hands events over to the owners of their endpoints when they arrive, before they are stored, where everything is as usual. Then the owner
 * stores the delivery with its result, and the publisher the event, a moment later and many at once. See ADR 46.
 */
export interface OnArrival {
  /** Whether an event can be handed over now, as far as can be said before it is read. */
  mayBegin(): boolean;
  /** Hands an event over to all of its endpoints; false where it has to be stored first. */
  handOver(event: IncomingEvent): boolean;
  /** Runs a statement that stores events, and learns of its answer. */
  storing(store: () => Promise<FanOutResult>): Promise<FanOutResult>;
}

/**
 * An event that occurred longer ago may have come before, in another message. An owner remembers for fifteen seconds what it attempted, so within
 * this time the same event twice is one request.
 */
const FRESH_MS = 10_000;

/** An emitter's clock may be so much ahead. */
const AHEAD_MS = 1_000;

/** For more endpoints, what is saved by it is small, and what it may cost is not. */
const MAX_ENDPOINTS = 20;

/** While a statement takes longer than this, PostgreSQL may be away, and what is attempted could not be stored. */
const LATE_MS = 1_000;

export function createOnArrival({ clock, handOver }: Parts): OnArrival {
  const directory = createDirectory(clock);
  /** When the statements under way began. */
  const running = new Set<{ sinceMs: number }>();
  /** Events that were handed over on arrival. */
  const handedOver = new WeakSet<IncomingEvent>();

  function deliveriesOf(event: IncomingEvent): NewDelivery[] | undefined {
    const now = clock.now().getTime();
    const occurredAt = event.occurredAt.getTime();
    if (occurredAt < now - FRESH_MS || occurredAt > now + AHEAD_MS) return undefined;
    const endpoints = directory.endpointsOf(event)?.filter(({ createdAt }) => createdAt <= event.occurredAt);
    if (endpoints === undefined || endpoints.length > MAX_ENDPOINTS) return undefined;
    if (Buffer.byteLength(event.body) > MAX_BODY_BYTES) return undefined;
    const nowMs = clock.monotonicMs();
    if (endpoints.some(({ owner, slowUntilMs }) => owner === null || slowUntilMs > nowMs)) return undefined;
    return endpoints.map(({ id: endpointId, revision, readAt, owner }) => ({
      id: deliveryId(event.key, endpointId),
      endpointId,
      revision,
      readAt,
      event,
      owner,
    }));
  }

  return {
    mayBegin() {
      const nowMs = clock.monotonicMs();
      for (const { sinceMs } of running) if (nowMs - sinceMs > LATE_MS) return false;
      return true;
    },
    handOver(event) {
      const deliveries = deliveriesOf(event);
      if (deliveries === undefined) return false;
      handedOver.add(event);
      if (deliveries.length > 0) handOver({ stored: false, deliveries, work: [] });
      return true;
    },
    async storing(store) {
      const statement = { sinceMs: clock.monotonicMs() };
      running.add(statement);
      try {
        const result = await store();
        // It was tried again and again meanwhile: what was said before, by others, may hold no more.
        if (clock.monotonicMs() - statement.sinceMs > LATE_MS) directory.forgetAll();
        directory.said(result.subscriptions);
        for (const { deliveries } of result.made) {
          for (const { event, endpointId } of deliveries) if (handedOver.has(event)) directory.wasSlow(endpointId);
        }
        return result;
      } catch (error) {
        directory.forgetAll();
        throw error;
      } finally {
        running.delete(statement);
      }
    },
  };
}
