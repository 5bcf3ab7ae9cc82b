import { ARRIVAL } from "@herald/common/broker/arrival";
import { deliveryId } from "@herald/common/database/ids";
import type { Clock } from "@herald/common/runtime/clock";
import type { FanOutResult } from "../event/fan-out.ts";
import { MAX_BODY_BYTES } from "../hand-over.ts";
import type { ForOwners, IncomingEvent, NewDelivery } from "../sql/rows.ts";
import { type SubscribedEndpoint, type Subscription, subscriptionKey } from "../sql/store-events.ts";

/** An event for more endpoints than this is not attempted on arrival: the saving is small, and the possible cost is not. */
const MAX_ENDPOINTS = 20;

/**
 * Hands events over to the owners of their endpoints when they arrive, before they are stored, if nothing is unusual. Then the owner stores the
 * delivery with its result, and the publisher the event, a moment later and many at once. See ADR 46.
 */
export function createOnArrival({ clock, handOver }: { clock: Clock; handOver: (made: ForOwners) => void }) {
  const subscribed = createSubscriptionCache(clock);
  /** When the statements under way began. */
  const running = new Set<{ sinceMs: number }>();

  function mayBegin(): boolean {
    const nowMs = clock.monotonicMs();
    for (const { sinceMs } of running) if (nowMs - sinceMs > ARRIVAL.slowMs) return false;
    return true;
  }

  function deliveriesOf(event: IncomingEvent): NewDelivery[] | undefined {
    const now = clock.now().getTime();
    const occurredAt = event.occurredAt.getTime();
    if (occurredAt < now - ARRIVAL.freshMs || occurredAt > now + ARRIVAL.aheadMs) return undefined;
    const endpoints = subscribed.endpointsOf(event)?.filter(({ createdAt }) => createdAt <= event.occurredAt);
    if (endpoints === undefined || endpoints.length > MAX_ENDPOINTS) return undefined;
    if (Buffer.byteLength(event.body) > MAX_BODY_BYTES) return undefined;
    if (endpoints.some(({ owner, isReady }) => owner === null || !isReady)) return undefined;
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
    /** Hands events over to all of their endpoints, and returns them; the others have to be stored first. An event without an endpoint can wait too. */
    handOver(events: readonly IncomingEvent[]): Set<IncomingEvent> {
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
    /** Runs a statement that stores events, and learns subscriptions from its answer. */
    async storing(store: () => Promise<FanOutResult>): Promise<FanOutResult> {
      const statement = { sinceMs: clock.monotonicMs() };
      running.add(statement);
      try {
        const result = await store();
        // The statement took long, so it was repeated. Entries from statements before it may be out of date.
        if (clock.monotonicMs() - statement.sinceMs > ARRIVAL.slowMs) subscribed.forgetAll();
        subscribed.learn(result.subscriptions);
        return result;
      } catch (error) {
        subscribed.forgetAll();
        throw error;
      } finally {
        running.delete(statement);
      }
    },
  };
}

/** Beyond this, the cache is emptied: the next events fill it again. */
const MAX_KNOWN = 20_000;

/**
 * A cache of subscriptions, filled from the answers of `storeEvents`. If an endpoint changes, the owner rejects the stale entry by its revision, and
 * the statement that stores the event makes a delivery that the cache missed. An entry is valid for a minute ({@link ARRIVAL}).
 */
function createSubscriptionCache(clock: Clock) {
  const endpoints = new Map<string, SubscribedEndpoint>();
  const subscriptions = new Map<string, { endpoints: SubscribedEndpoint[]; readAtMs: number }>();

  /** PostgreSQL was away: it may come back in an earlier state, and all entries with it. */
  function forgetAll(): void {
    endpoints.clear();
    subscriptions.clear();
  }

  function known(endpoint: SubscribedEndpoint): SubscribedEndpoint {
    const known = endpoints.get(endpoint.id) ?? { ...endpoint };
    // Statements may end in another order than they began in.
    if (endpoint.readAt >= known.readAt) Object.assign(known, endpoint);
    endpoints.set(endpoint.id, known);
    return known;
  }

  return {
    /** Undefined if it is not known. */
    endpointsOf(event: IncomingEvent): readonly SubscribedEndpoint[] | undefined {
      const found = subscriptions.get(subscriptionKey(event));
      return found && clock.monotonicMs() - found.readAtMs <= ARRIVAL.subscriptionMs ? found.endpoints : undefined;
    },
    learn(read: readonly Subscription[]): void {
      if (endpoints.size > MAX_KNOWN || subscriptions.size > MAX_KNOWN) forgetAll();
      for (const subscription of read) {
        const readAtMs = clock.monotonicMs();
        subscriptions.set(subscriptionKey(subscription), { endpoints: subscription.endpoints.map(known), readAtMs });
      }
    },
    forgetAll,
  };
}
