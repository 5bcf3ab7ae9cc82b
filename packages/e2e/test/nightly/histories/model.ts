/**
 * A model of SPEC 3 and 6, without anything of how Herald does it: endpoints that are enabled or not, deliveries with their attempts,
 * and who gets which event. Times are milliseconds. A history is played on this and on Herald, and both must agree.
 */

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** SPEC 8. */
const WINDOW = 7 * DAY;
const RETRY_DELAYS = [1 * MINUTE, 2 * MINUTE, 4 * MINUTE, 8 * MINUTE];
const MAX_ATTEMPTS = RETRY_DELAYS.length + 1;
/** SPEC says five. With fewer, forty steps are enough to disable an endpoint: failures count only if they follow one another. */
export const DISABLE_AFTER = 2;
/** The pauses after failures. An attempt that begins during one does not count. */
export const PAUSES = [1_000, 2_000, 4_000, 8_000];

/** How long each attempt takes. */
export const TAKES = 1_000;
/** So many deliveries of an endpoint may be in flight when their owner dies. */
export const PER_ENDPOINT = 2;

export interface ModelEvent {
  type: string;
  occurredAt: number;
}

export interface ModelEndpoint {
  types: readonly string[];
  enabled: boolean;
  createdAt: number;
  /** Edits and automatic disablings: a result of an attempt from before the latest one counts neither for nor against it. */
  revision: number;
  failures: number;
  /** When the last attempt that counts ended, and until when the endpoint rests: later attempts count. */
  failedAt: number;
  pausedUntil: number;
  /** An edit has asked for a catch-up that was not made yet. */
  marked: boolean;
}

export interface ModelDelivery {
  /** Herald's, which decides between two of the same time. */
  id: string;
  event: number;
  endpoint: number;
  state: "pending" | "succeeded" | "exhausted";
  attempts: number;
  /** How often an owner died when it may have been in flight. */
  interruptions: number;
  dueAt: number;
}

/** How an attempt ended. */
export interface ModelResult {
  /** The endpoint's when it began. */
  revision: number;
  /** In which its dispatcher owned the endpoint. */
  epoch: number;
  /** When the delivery was due as it began. */
  dueAt: number;
  succeeded: boolean;
  startedAt: number;
  endedAt: number;
}

const NO_FAILURES = { failures: 0, failedAt: 0, pausedUntil: 0 };

export class Model {
  readonly #idOf: (key: string) => string;

  /** @param idOf Herald's id of a delivery */
  constructor(idOf: (key: string) => string) {
    this.#idOf = idOf;
  }

  readonly events: ModelEvent[] = [];
  readonly endpoints = new Map<number, ModelEndpoint>();
  readonly deliveries = new Map<string, ModelDelivery>();
  readonly #known = new Set<number>();
  #epoch = 0;

  create(endpoint: number, types: readonly string[], now: number): void {
    this.#known.add(endpoint);
    const row = { types, enabled: true, createdAt: now, revision: 1, marked: true };
    this.endpoints.set(endpoint, { ...row, ...NO_FAILURES });
  }

  /** The same event again makes no second delivery, and is of the type that it had first. */
  emit(event: number, { type, occurredAt }: ModelEvent, now: number): void {
    this.events[event] ??= { type, occurredAt };
    for (const number of this.endpoints.keys()) this.#fanOut(event, number, now);
  }

  edit(endpoint: number, { enabled, types }: { enabled: boolean; types: readonly string[] }): void {
    const row = this.#endpoint(endpoint);
    const isNew = enabled && !(row.enabled && types.every((type) => row.types.includes(type)));
    if (enabled && !row.enabled) Object.assign(row, NO_FAILURES);
    Object.assign(row, { enabled, types, revision: row.revision + 1, marked: row.marked || isNew });
  }

  delete(endpoint: number): void {
    this.endpoints.delete(endpoint);
    for (const [key, delivery] of this.deliveries) if (delivery.endpoint === endpoint) this.deliveries.delete(key);
  }

  /** Every catch-up that an endpoint waits for is made now. */
  catchUp(now: number): void {
    for (const [number, endpoint] of this.endpoints) {
      if (!endpoint.marked || !endpoint.enabled) continue;
      endpoint.marked = false;
      for (const event of this.events.keys()) if (this.events[event]) this.#fanOut(event, number, now);
    }
  }

  /** Whether there ever was such an endpoint. */
  knows(endpoint: number): boolean {
    return this.#known.has(endpoint);
  }

  /** The stored deliveries, as a list that can be compared. */
  state() {
    return {
      endpoints: [...this.endpoints].map(([number, { enabled, failures }]) => [number, enabled, failures]).sort(),
      deliveries: [...this.deliveries]
        .map(([key, { state, attempts, interruptions, dueAt }]) => {
          const waits = state === "pending";
          return [key, state, attempts, attempts, waits, waits ? dueAt : null, waits ? interruptions : null];
        })
        .sort(),
    };
  }

  /** Another dispatcher owns all endpoints from now on. Of one that died, the oldest due ones may have been in flight. */
  takeOver({ crashed, now }: { crashed: boolean; now: number }): void {
    this.#epoch += 1;
    if (!crashed) return;
    for (const endpoint of this.endpoints.keys()) {
      for (const delivery of this.due(endpoint, now, { enabled: true }).slice(0, PER_ENDPOINT)) {
        // One that was interrupted before moves, by no time in these tests.
        if (delivery.interruptions > 0) delivery.dueAt = now;
        delivery.interruptions += 1;
      }
    }
  }

  /** The due deliveries, in the order in which they are read. */
  due(endpoint: number, now: number, { enabled = this.endpoints.get(endpoint)?.enabled } = {}): ModelDelivery[] {
    if (!enabled) return [];
    return [...this.deliveries.values()]
      .filter(({ endpoint: of, state, dueAt }) => of === endpoint && state === "pending" && dueAt <= now)
      .sort((one, other) => one.dueAt - other.dueAt || (one.id < other.id ? -1 : 1));
  }

  /** An attempt ended. */
  settle(key: string, result: ModelResult): void {
    const { succeeded, endedAt, epoch, dueAt } = result;
    const delivery = this.deliveries.get(key);
    // The endpoint was deleted meanwhile.
    if (delivery === undefined) return;
    const isOurs = delivery.state === "pending" && epoch === this.#epoch && dueAt === delivery.dueAt;
    // An exhausted delivery stays so. That the receiver took it after all still counts for its endpoint.
    if (succeeded && delivery.state === "exhausted") {
      this.#count(delivery.endpoint, result);
      return;
    }
    if (succeeded ? delivery.state === "succeeded" : !isOurs) return;
    delivery.attempts += 1;
    const delay = RETRY_DELAYS[delivery.attempts - 1];
    if (succeeded) delivery.state = "succeeded";
    else if (delivery.attempts >= MAX_ATTEMPTS || delay === undefined) delivery.state = "exhausted";
    else delivery.dueAt = endedAt + delay;
    this.#count(delivery.endpoint, result);
  }

  #count(number: number, { revision, succeeded, startedAt, endedAt }: ModelResult): void {
    const endpoint = this.endpoints.get(number);
    if (!endpoint?.enabled || endpoint.revision !== revision) return;
    if (succeeded) return void Object.assign(endpoint, NO_FAILURES);
    // Attempts that overlap are one failure.
    if (startedAt <= endpoint.failedAt || startedAt < endpoint.pausedUntil) return;
    endpoint.failures += 1;
    endpoint.failedAt = endedAt;
    endpoint.pausedUntil = endedAt + (PAUSES[endpoint.failures - 1] as number);
    if (endpoint.failures < DISABLE_AFTER) return;
    endpoint.enabled = false;
    endpoint.revision += 1;
  }

  #fanOut(number: number, endpointNumber: number, now: number): void {
    const event = this.events[number];
    const endpoint = this.endpoints.get(endpointNumber);
    if (!event || !endpoint?.enabled || !endpoint.types.includes(event.type)) return;
    if (event.occurredAt < endpoint.createdAt || event.occurredAt < now - WINDOW) return;
    const key = `${number}/${endpointNumber}`;
    if (this.deliveries.has(key)) return;
    const delivery = {
      id: this.#idOf(key),
      event: number,
      endpoint: endpointNumber,
      attempts: 0,
      interruptions: 0,
      dueAt: now,
    };
    this.deliveries.set(key, { ...delivery, state: "pending" });
  }

  #endpoint(number: number): ModelEndpoint {
    const endpoint = this.endpoints.get(number);
    if (!endpoint) throw new Error(`The history has no endpoint ${number}.`);
    return endpoint;
  }
}
