/** How many manual deliveries may be under way at once, slow ones included. Pure. */
export interface ManualCaps {
  /** Counts one more, if both the endpoint and its organization are below their caps. */
  enter(endpointId: string, organizationId: string): boolean;
  leave(endpointId: string, organizationId: string): void;
}

/**
 * A tenth of all for one endpoint: a receiver that hangs keeps each of them for the whole time of an attempt. A fifth for one
 * organization: it takes five of them, all at it, to fill everything.
 */
export function manualCaps(concurrency: number): ManualCaps {
  const ofEndpoint = Math.max(1, Math.floor(concurrency / 10));
  const ofOrganization = Math.max(1, Math.floor(concurrency / 5));
  // Hold only what is under way.
  const endpoints = new Map<string, number>();
  const organizations = new Map<string, number>();

  function add(counts: Map<string, number>, id: string, by: number): void {
    const count = (counts.get(id) ?? 0) + by;
    if (count < 0) throw new Error("A manual delivery leaves that has not entered.");
    if (count > 0) counts.set(id, count);
    else counts.delete(id);
  }

  return {
    enter(endpointId, organizationId) {
      if ((endpoints.get(endpointId) ?? 0) >= ofEndpoint) return false;
      if ((organizations.get(organizationId) ?? 0) >= ofOrganization) return false;
      add(endpoints, endpointId, 1);
      add(organizations, organizationId, 1);
      return true;
    },
    leave(endpointId, organizationId) {
      add(endpoints, endpointId, -1);
      add(organizations, organizationId, -1);
    },
  };
}
