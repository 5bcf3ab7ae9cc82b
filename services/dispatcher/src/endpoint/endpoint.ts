import { shardOf } from "@herald/common/database/shards";
import type { Clock } from "@herald/common/runtime/clock";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { TimedConfiguration } from "../sql/read-configuration.ts";
import { Gate, type GateOptions } from "./gate.ts";
import { KnownConfiguration } from "./known-configuration.ts";
import { Line, type Times } from "./line.ts";
import type { Memory } from "./memory.ts";

/** A timer is never longer: a sweep finds what is due later. */
const MAX_TIMER_MS = 60_000;

export interface Shared {
  clock: Clock;
  memory: Memory;
  times: Times;
  gate: GateOptions;
}

/**
 * One endpoint at its owner: what waits for it, what it may have now, and its configuration. Only its parts write their state. It is lost with the
 * shard: PostgreSQL has everything that counts.
 */
export class Endpoint {
  readonly id: string;
  readonly organizationId: string;
  readonly shard: number;
  readonly line: Line;
  readonly gate: Gate;
  readonly configuration = new KnownConfiguration();
  #timer: NodeJS.Timeout | undefined;
  #isGone = false;

  constructor(id: string, organizationId: string, { clock, memory, times, gate }: Shared) {
    this.id = id;
    this.organizationId = organizationId;
    this.shard = shardOf(id);
    this.line = new Line(memory, times);
    this.gate = new Gate(clock, gate);
  }

  /** Whether its shard was lost, or it was disabled, deleted or forgotten: results still come, and no attempt begins any more. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Takes its configuration and health, of a reading that began when this many changes were known. */
  take(current: TimedConfiguration, changes: number): void {
    this.gate.breaker.know(current.configuration);
    if (this.configuration.take(current, changes)) this.gate.reset(current.configuration);
  }

  /** Whether a delivery waited for this receiver, or for its admin: its delay says nothing about Herald. */
  keptWaiting({ createdAt }: Delivery): boolean {
    return this.gate.wasFullSince(createdAt) || this.configuration.wasChangedSince(createdAt);
  }

  /** Sets a timer for the next retry, or for the end of a pause or rest. Without one, the end of an attempt or a message wakes the endpoint. */
  wakeLater(wake: () => void): void {
    clearTimeout(this.#timer);
    const waits = [this.line.untilDueMs, this.line.isEmpty ? undefined : this.gate.noteWait()];
    const waitMs = Math.min(...waits.filter((ms) => ms !== undefined));
    if (waitMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(wake, Math.min(MAX_TIMER_MS, Math.max(1, Math.ceil(waitMs)))).unref();
  }

  /** Attempts in flight end by themselves. */
  drop(): void {
    this.#isGone = true;
    clearTimeout(this.#timer);
    this.line.drop();
  }
}

/**
 * The endpoints that an owner knows: those with work, and those that had some lately. Beyond a number, an endpoint is forgotten, unless it has an
 * attempt in flight: of an organization that has as many as others or more, the one that was used longest ago. PostgreSQL has everything of it.
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
