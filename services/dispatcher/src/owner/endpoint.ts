import { shardOf } from "@herald/common/database/shards";
import type { Breaker } from "../admission/breaker.ts";
import type { Permit } from "../admission/permits.ts";
import type { Rate } from "../admission/rate.ts";
import type { TurnTaker } from "../admission/turns.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { Configuration } from "../sql/read-configuration.ts";
import { BEGINNING, type Cursor } from "../sql/read-due.ts";

/** What an owner knows of one endpoint. It is lost with the shard: PostgreSQL has all that counts. */
export interface OwnedEndpoint extends TurnTaker {
  readonly shard: number;
  /** As it was at `configuredAt`; undefined before it was read. */
  configuration: Configuration | undefined;
  configuredAtMs: number;
  /** When it was last said to have changed: what was read before does not count. */
  changedAtMs: number;
  /** Undefined before the endpoint's health was read. */
  breaker: Breaker | undefined;
  rate: Rate | undefined;
  /** Deliveries at hand, whose attempts have not begun, in their order. */
  ready: Delivery[];
  /** Deliveries at hand that wait until no other suspect is in flight. */
  suspects: Delivery[];
  /** Attempts that are not over, and those of them that have taken long already. */
  inFlight: number;
  slowInFlight: number;
  /** Whether PostgreSQL may have due rows that are not in memory. */
  hasMore: boolean;
  /** Up to here, all rows are in memory, or have ended. */
  cursor: Cursor;
  /** Rows are being read. */
  reading: boolean;
  /** Deliveries that were handed over meanwhile. */
  stash: Delivery[];
  /** Rows were stored meanwhile that the reading may have missed. */
  again: boolean;
  /** Permits for what is to be read. */
  reserved: Permit[];
  /** The earliest retry that is known, by PostgreSQL's clock. */
  nextDueMs: number | undefined;
  /** When something last waited since the endpoint itself took no more: it fails, or has as many attempts as it may. */
  fullAtMs: number;
  /** Nothing begins before this time, after an outage. */
  restUntilMs: number;
  /** Its shard's owner before died: what may have been in flight is to be marked before it is read. */
  mark: boolean;
  timer: NodeJS.Timeout | undefined;
  /** Its shard was lost, or it was disabled or deleted: results still come, and nothing begins any more. */
  isGone: boolean;
}

export function newEndpoint(id: string, organizationId: string, rate: Rate | undefined): OwnedEndpoint {
  return {
    id,
    organizationId,
    shard: shardOf(id),
    configuration: undefined,
    configuredAtMs: Number.NEGATIVE_INFINITY,
    changedAtMs: Number.NEGATIVE_INFINITY,
    breaker: undefined,
    rate,
    ready: [],
    suspects: [],
    inFlight: 0,
    slowInFlight: 0,
    hasMore: false,
    cursor: BEGINNING,
    reading: false,
    stash: [],
    again: false,
    reserved: [],
    nextDueMs: undefined,
    fullAtMs: Number.NEGATIVE_INFINITY,
    restUntilMs: Number.NEGATIVE_INFINITY,
    mark: false,
    timer: undefined,
    isGone: false,
  };
}

/** Whether nothing would be lost with it but what can be read again. */
export function isIdle(endpoint: OwnedEndpoint): boolean {
  const { ready, suspects, inFlight, hasMore, reading, reserved, breaker, nextDueMs } = endpoint;
  const isAtHand = ready.length + suspects.length + reserved.length > 0;
  const isWaiting = isAtHand || hasMore || reading || nextDueMs !== undefined;
  return !isWaiting && inFlight === 0 && (breaker?.isHealthy() ?? true);
}
