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
  /** Hands events over to all of their endpoints, and returns them; the others have to be stored first. */
  handOver(events: readonly IncomingEvent[]): Set<IncomingEvent>;
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

  function mayBegin(): boolean {
    const nowMs = clock.monotonicMs();
    for (const { sinceMs } of running) if (nowMs - sinceMs > LATE_MS) return false;
    return true;
  }

  function deliveriesOf(event: IncomingEvent): NewDelivery[] | undefined {
    const now = clock.now().getTime();
    const occurredAt = event.occurredAt.getTime();
    if (occurredAt < now - FRESH_MS || occurredAt > now + AHEAD_MS) return undefined;
    const endpoints = directory.endpointsOf(event)?.filter(({ createdAt }) => createdAt <= event.occurredAt);
    if (endpoints === undefined || endpoints.length > MAX_ENDPOINTS) return undefined;
    if (Buffer.byteLength(event.body) > MAX_BODY_BYTES) return undefined;
    if (endpoints.some(({ owner }) => owner === null)) return undefined;
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
    handOver(events) {
      if (!mayBegin()) return new Set();
      const made = new Map<IncomingEvent, NewDelivery[]>();
      for (const event of events) {
        const deliveries = deliveriesOf(event);
        if (deliveries) made.set(event, deliveries);
      }
      const deliveries = [...made.values()].flat();
      if (deliveries.length > 0) handOver({ stored: false, deliveries, work: [] });
      return new Set(made.keys());
    },
    async storing(store) {
      const statement = { sinceMs: clock.monotonicMs() };
      running.add(statement);
      try {
        const result = await store();
        // It was tried again and again meanwhile: what was said before, by others, may hold no more.
        if (clock.monotonicMs() - statement.sinceMs > LATE_MS) directory.forgetAll();
        directory.said(result.subscriptions);
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
