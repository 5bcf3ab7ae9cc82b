import { shardOf } from "@herald/common/database/shards";
import type { Breaker } from "../admission/breaker.ts";
import type { Permit } from "../admission/permits.ts";
import type { Rate } from "../admission/rate.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { Configuration } from "../sql/read-configuration.ts";
import { BEGINNING } from "../sql/read-due.ts";

export type OwnedEndpoint = ReturnType<typeof newEndpoint>;

/** The state of one endpoint at its owner. It is lost with the shard: PostgreSQL has everything that counts. */
export function newEndpoint(id: string, organizationId: string, rate: Rate | undefined) {
  return {
    id,
    organizationId,
    shard: shardOf(id),
    /** The configuration of `configuredAtMs`; undefined before it was read. */
    configuration: undefined as Configuration | undefined,
    configuredAtMs: Number.NEGATIVE_INFINITY,
    /** When a message last said that it has changed: a configuration that was read before is stale. */
    changedAtMs: Number.NEGATIVE_INFINITY,
    /** Undefined before the endpoint's health was read. */
    breaker: undefined as Breaker | undefined,
    rate,
    /** Deliveries in memory whose attempts have not begun, in their order. */
    ready: [] as Delivery[],
    /** Attempts that are not over, and the slow ones among them. */
    inFlight: 0,
    slowInFlight: 0,
    /** Whether PostgreSQL may have due rows that are not in memory. */
    hasMore: false,
    /** All rows up to here are in memory, or have ended. */
    cursor: BEGINNING,
    /** Rows are being read. */
    reading: false,
    /** Rows were stored meanwhile that the reading may have missed. */
    again: false,
    /** Permits for rows that are being read. */
    reserved: [] as Permit[],
    /** The earliest retry that is known, by PostgreSQL's clock. */
    nextDueMs: undefined as number | undefined,
    /** When a delivery last waited for the endpoint itself: it fails, or has as many attempts as it may. */
    fullAtMs: Number.NEGATIVE_INFINITY,
    /** Nothing begins before this time of the process (`performance.now`), after an outage. */
    restUntilMs: Number.NEGATIVE_INFINITY,
    /** The shard's owner before died: deliveries that may have been in flight must be marked before they are read. */
    mark: false,
    timer: undefined as NodeJS.Timeout | undefined,
    /** Its shard was lost, or it was disabled or deleted: results still come, and no attempt begins any more. */
    isGone: false,
  };
}

/** Beyond this number, the endpoint that was used longest ago is forgotten, unless it has an attempt in flight. PostgreSQL has everything of it. */
const MAX_ENDPOINTS = 10_000;

/**
 * The endpoints that an owner knows: those with work, and those that had some lately.
 *
 * @param onDropped removes all references to the endpoint
 */
export function createEndpoints(newRate: () => Rate | undefined, onDropped: (endpoint: OwnedEndpoint) => void) {
  /** The endpoints by id, in the order of their last use. */
  const endpoints = new Map<string, OwnedEndpoint>();

  function use(endpoint: OwnedEndpoint): void {
    endpoints.delete(endpoint.id);
    endpoints.set(endpoint.id, endpoint);
  }

  /** Forgets an endpoint. Attempts in flight end by themselves. */
  function drop(endpoint: OwnedEndpoint): void {
    endpoint.isGone = true;
    clearTimeout(endpoint.timer);
    endpoints.delete(endpoint.id);
    onDropped(endpoint);
  }

  return {
    /** Returns the endpoint, which is known from now on. */
    of(id: string, organizationId: string): OwnedEndpoint {
      const endpoint = endpoints.get(id) ?? newEndpoint(id, organizationId, newRate());
      use(endpoint);
      const [oldest] = endpoints.values();
      if (oldest && endpoints.size > MAX_ENDPOINTS) (oldest.inFlight > 0 ? use : drop)(oldest);
      return endpoint;
    },
    drop,
    all: () => [...endpoints.values()],
  };
}
