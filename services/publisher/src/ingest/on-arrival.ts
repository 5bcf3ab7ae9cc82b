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
  /**
   * How many events may be handed over before they are stored. What owners don't attempt in time is stored as due, and then settled: more work, when
   * there is most of it.
   */
  limit(): number;
  /** Events have waited since the limit was reached. */
  waited(): void;
  /** Runs a statement that stores events, and learns of its answer. */
  storing(events: readonly IncomingEvent[], store: () => Promise<FanOutResult>): Promise<FanOutResult>;
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

/** The limit is lowered where most endpoints are late, and raised where most are not. */
const LIMIT = { first: 400, least: 200, most: 1_000, lowered: 0.5, raised: 1.25 };

/** So long after a change of the limit, statements say what it was like before. */
const UNCHANGED_MS = 500;

export function createOnArrival({ clock, handOver }: Parts): OnArrival {
  const directory = createDirectory(clock);
  /** When the statements under way began. */
  const running = new Set<{ sinceMs: number }>();
  /** Events that were handed over on arrival, with the endpoints that got them. */
  const handedOver = new WeakMap<IncomingEvent, readonly string[]>();
  let limit = LIMIT.first;
  /** Whether events have waited since it was last changed. */
  let isReached = false;
  let changedAtMs = Number.NEGATIVE_INFINITY;

  function mayBegin(): boolean {
    const nowMs = clock.monotonicMs();
    for (const { sinceMs } of running) if (nowMs - sinceMs > LATE_MS) return false;
    return true;
  }

  /** What had no result when its event was stored was late: its endpoint is slow, or most are, since too much is under way. */
  function learn(events: readonly IncomingEvent[], { made }: FanOutResult): void {
    const nowMs = clock.monotonicMs();
    const early = new Set(events.flatMap((event) => handedOver.get(event) ?? []));
    if (early.size === 0 || !isReached || nowMs - changedAtMs < UNCHANGED_MS) return;
    const late = new Set<string>();
    for (const { deliveries } of made) {
      for (const { event, endpointId } of deliveries) if (handedOver.has(event)) late.add(endpointId);
    }
    const isTooMuch = 2 * late.size > early.size;
    limit = isTooMuch
      ? Math.max(LIMIT.least, Math.floor(limit * LIMIT.lowered))
      : Math.min(LIMIT.most, Math.ceil(limit * LIMIT.raised));
    changedAtMs = nowMs;
    isReached = false;
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
      for (const [event, deliveries] of made) {
        handedOver.set(
          event,
          deliveries.map(({ endpointId }) => endpointId),
        );
      }
      const deliveries = [...made.values()].flat();
      if (deliveries.length > 0) handOver({ stored: false, deliveries, work: [] });
      return new Set(made.keys());
    },
    limit: () => limit,
    waited() {
      isReached = true;
    },
    async storing(events, store) {
      const statement = { sinceMs: clock.monotonicMs() };
      running.add(statement);
      try {
        const result = await store();
        // It was tried again and again meanwhile: what was said before, by others, may hold no more.
        if (clock.monotonicMs() - statement.sinceMs > LATE_MS) directory.forgetAll();
        directory.said(result.subscriptions);
        learn(events, result);
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
