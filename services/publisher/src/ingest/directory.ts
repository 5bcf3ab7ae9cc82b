import type { Clock } from "@herald/common/runtime/clock";
import { type SubscribedEndpoint, type Subscription, subscriptionKey } from "../sql/store-events.ts";

/**
 * Who gets the events of an organization and type, as the statements that store events say it by the way. Nobody tells of changes, since this
 * is never the authority: what it hands over in vain the owner drops, by the endpoint's revision, and what it misses the next statement
 * makes, and says. So it mends itself with every event that is stored.
 */
export interface Directory {
  /** Undefined where it doesn't know. */
  endpointsOf(event: Pick<Subscription, "organizationId" | "type">): readonly SubscribedEndpoint[] | undefined;
  said(subscriptions: readonly Subscription[]): void;
  /** PostgreSQL could not be asked: it may come back as it was before, and everything with it. */
  forgetAll(): void;
}

/** What was said longer ago counts for nothing. */
const VALID_MS = 60_000;

/** Of more endpoints, everything is forgotten: the next events say it again. */
const MAX_ENDPOINTS = 20_000;

export function createDirectory(clock: Pick<Clock, "monotonicMs">): Directory {
  const endpoints = new Map<string, SubscribedEndpoint>();
  const subscriptions = new Map<string, { endpoints: SubscribedEndpoint[]; saidAtMs: number }>();

  function forgetAll(): void {
    endpoints.clear();
    subscriptions.clear();
  }

  function known(endpoint: SubscribedEndpoint): SubscribedEndpoint {
    const known = endpoints.get(endpoint.id) ?? { ...endpoint };
    // Statements may end in another order than that in which they began.
    if (endpoint.readAt >= known.readAt) Object.assign(known, endpoint);
    endpoints.set(endpoint.id, known);
    return known;
  }

  return {
    endpointsOf(event) {
      const found = subscriptions.get(subscriptionKey(event));
      return found && clock.monotonicMs() - found.saidAtMs <= VALID_MS ? found.endpoints : undefined;
    },
    said(said) {
      if (endpoints.size > MAX_ENDPOINTS || subscriptions.size > MAX_ENDPOINTS) forgetAll();
      for (const subscription of said) {
        const saidAtMs = clock.monotonicMs();
        subscriptions.set(subscriptionKey(subscription), { endpoints: subscription.endpoints.map(known), saidAtMs });
      }
    },
    forgetAll,
  };
}
