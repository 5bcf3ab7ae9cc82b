import { Endpoint, type Shared } from "./endpoint.ts";

/**
 * The endpoints that an owner knows: those with work, and those that had some lately. Beyond a number, an endpoint is forgotten, unless it has an
 * attempt in flight: of an organization that has as many as others or more, the one that was used longest ago. PostgreSQL has everything of it.
 *
 * @param onDropped removes all references to the endpoint
 */
export function createEndpoints(shared: Shared, max: number, onDropped: (endpoint: Endpoint) => void) {
  const endpoints = new Map<string, Endpoint>();
  /** The endpoints of each organization; both in the order of their last use. */
  const organizations = new Map<string, Set<Endpoint>>();
  /** The organization whose endpoint was forgotten last. */
  let large = new Set<Endpoint>();

  function use(endpoint: Endpoint): void {
    const { id, organizationId } = endpoint;
    const own = organizations.get(organizationId) ?? new Set();
    organizations.delete(organizationId);
    organizations.set(organizationId, own);
    own.delete(endpoint);
    own.add(endpoint);
    endpoints.set(id, endpoint);
  }

  function drop(endpoint: Endpoint): void {
    if (endpoint.isGone) return;
    const { id, organizationId } = endpoint;
    endpoint.drop();
    endpoints.delete(id);
    const own = organizations.get(organizationId);
    own?.delete(endpoint);
    if (own?.size === 0) organizations.delete(organizationId);
    onDropped(endpoint);
  }

  const isLarge = (own: Set<Endpoint>) => own.size * organizations.size >= endpoints.size;

  function makeRoomFor(endpoint: Endpoint): void {
    if (!isLarge(large)) {
      for (const own of organizations.values()) {
        large = own;
        if (isLarge(own)) break;
      }
    }
    const [oldest] = large;
    if (oldest && oldest !== endpoint) (oldest.gate.inFlight > 0 ? use : drop)(oldest);
  }

  return {
    /** Returns the endpoint, which is known from now on. */
    of(id: string, organizationId: string): Endpoint {
      const endpoint = endpoints.get(id) ?? new Endpoint(id, organizationId, shared);
      use(endpoint);
      if (endpoints.size > max) makeRoomFor(endpoint);
      return endpoint;
    },
    known: (id: string) => endpoints.get(id),
    drop,
    all: () => [...endpoints.values()],
  };
}
