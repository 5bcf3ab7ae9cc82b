import type { Rate } from "../admission/rate.ts";
import { isIdle, newEndpoint, type OwnedEndpoint } from "./endpoint.ts";

/** Of more, one without work is forgotten: the one that was used longest ago. */
const MAX_ENDPOINTS = 10_000;

/**
 * The endpoints that an owner knows: those with work, and those that had some lately.
 *
 * @param onDropped nothing may refer to it any more
 */
export function createEndpoints(newRate: () => Rate | undefined, onDropped: (endpoint: OwnedEndpoint) => void) {
  /** In the order of their last use. */
  const endpoints = new Map<string, OwnedEndpoint>();

  function use(endpoint: OwnedEndpoint): void {
    endpoints.delete(endpoint.id);
    endpoints.set(endpoint.id, endpoint);
  }

  /** Forgets one. What is in flight ends by itself. */
  function drop(endpoint: OwnedEndpoint): void {
    endpoint.isGone = true;
    clearTimeout(endpoint.timer);
    endpoints.delete(endpoint.id);
    onDropped(endpoint);
  }

  function forgetIdle(): void {
    let looked = 0;
    for (const oldest of endpoints.values()) {
      if (isIdle(oldest)) {
        drop(oldest);
        return;
      }
      if (++looked === 10) return;
      // It is passed over for long.
      use(oldest);
    }
  }

  return {
    /** The endpoint, which is known from now on. */
    of(id: string, organizationId: string): OwnedEndpoint {
      const endpoint = endpoints.get(id) ?? newEndpoint(id, organizationId, newRate());
      use(endpoint);
      if (endpoints.size > MAX_ENDPOINTS) forgetIdle();
      return endpoint;
    },
    has: (id: string) => endpoints.has(id),
    isFull: () => endpoints.size >= MAX_ENDPOINTS,
    drop,
    all: () => [...endpoints.values()],
  };
}
