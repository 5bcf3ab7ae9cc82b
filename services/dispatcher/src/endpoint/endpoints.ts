import { Endpoint, type Shared } from "./endpoint.ts";

/** Beyond this number, the endpoint that was used longest ago is forgotten, unless it has an attempt in flight. PostgreSQL has everything of it. */
const MAX_ENDPOINTS = 10_000;

/**
 * The endpoints that an owner knows: those with work, and those that had some lately.
 *
 * @param onDropped removes all references to the endpoint
 */
export function createEndpoints(shared: Shared, onDropped: (endpoint: Endpoint) => void) {
  /** The endpoints by id, in the order of their last use. */
  const endpoints = new Map<string, Endpoint>();

  function use(endpoint: Endpoint): void {
    endpoints.delete(endpoint.id);
    endpoints.set(endpoint.id, endpoint);
  }

  function drop(endpoint: Endpoint): void {
    if (endpoint.isGone) return;
    endpoint.drop();
    endpoints.delete(endpoint.id);
    onDropped(endpoint);
  }

  return {
    /** Returns the endpoint, which is known from now on. */
    of(id: string, organizationId: string): Endpoint {
      const endpoint = endpoints.get(id) ?? new Endpoint(id, organizationId, shared);
      use(endpoint);
      const [oldest] = endpoints.values();
      if (oldest && endpoints.size > MAX_ENDPOINTS) (oldest.gate.inFlight > 0 ? use : drop)(oldest);
      return endpoint;
    },
    /** Forgets an endpoint. */
    drop,
    all: () => [...endpoints.values()],
  };
}
