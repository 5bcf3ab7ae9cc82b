import type { HandOver } from "@herald/contracts";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, jest } from "@jest/globals";
import type { Attempt, Outcome } from "../../src/attempt/make-attempt.ts";
import type { BacklogPage } from "../../src/endpoint/line.ts";
import { retrySchedule } from "../../src/endpoint/retry-schedule.ts";
import type { Outage } from "../../src/outage/outage.ts";
import { createOwner, type OwnerOptions } from "../../src/owner/owner.ts";
import type { BacklogDemand } from "../../src/owner/read-backlog.ts";
import type { HealthQueue } from "../../src/settle/health-queue.ts";
import type { SettleQueue } from "../../src/settle/settle-queue.ts";
import type { Shards } from "../../src/shards/shards.ts";
import type { Delivery, DueRow } from "../../src/sql/describe-deliveries.ts";
import type { Configuration } from "../../src/sql/read-configuration.ts";
import { basics, SILENT } from "../basics.ts";

export const OPTIONS: OwnerOptions = {
  concurrency: 4,
  ratePerSecond: undefined,
  newOwnerMs: 15_000,
  maxEndpoints: 10_000,
  breaker: { pausesMs: [1_000, 5_000, 15_000, 60_000], disableAfter: 1_000 },
  bounds: { inFlight: 24, bodiesBytes: 64 * 1024 },
};
export const RETRY_MS = 2_000;
export const START = new Date("2026-03-01T12:00:00.000Z");

export const endpointId = (index: number) => `0190a1b2-0000-7000-8000-0000000000${index.toString(16).padStart(2, "0")}`;
/** The rows of these endpoints have large bodies. */
const LARGE = [3, 4].map(endpointId);
export const LARGE_BYTES = 40 * 1024;
export const organizationOf = (id: string) => `organization ${Number.parseInt(id.slice(-2), 16) % 3}`;

const targetOf = (id: string) => ({ endpointId: id, organizationId: organizationOf(id) });

/** The message of an endpoint's change. */
export const changeOf = (id: string) => ({ kind: "changed", ...targetOf(id) }) as const;

export type Ending = "succeeded" | "failed" | "put back" | "left" | "not stored" | "locked";

/** In the tests of this owner, timers are virtual too. */
export function useVirtualTime(): void {
  beforeEach(() => void jest.useFakeTimers({ now: 0 }));
  afterEach(() => void jest.useRealTimers());
}

/** An owner in virtual time, and PostgreSQL as a table in memory that it reads late, and that publishers write. */
export function world({
  tookMs = (() => 5) as (endpointId: string) => number,
  options = {} as Partial<OwnerOptions>,
} = {}) {
  const clock = steeredClock(START);
  const rows = new Map<string, DueRow>();
  const made = new Map<string, number>();
  /** For each first attempt, whether its delivery had waited for its receiver. */
  const waited: boolean[] = [];
  const inFlight = new Map<string, Attempt>();
  const ofEndpoint = new Map<string, number>();
  const most = { all: 0, endpoint: 0, twice: 0, inTurn: 0, largeBytes: 0 };
  /** Attempts made, by organization. */
  const madeBy = new Map<string, number>();
  /** Attempts that began in this turn of the event loop. */
  let inTurn = 0;
  const lost = new Set<number>();
  const disabled = new Set<string>();
  let statements = 0;
  /** Deliveries that were read from PostgreSQL, to be attempted. */
  let read = 0;
  let configurations = 0;
  let revision = 1n;
  /** Deliveries that PostgreSQL has, or has had. */
  const stored = new Set<string>();
  /** Endpoints that could not be handled. */
  const errors: unknown[] = [];
  /** Values that tests change. */
  const set = {
    readMs: 2,
    ownedMs: Number.POSITIVE_INFINITY,
    isWriting: true,
    isOutage: false,
    ending: (_delivery: Delivery): Ending => "succeeded",
    unlocked: Promise.resolve(),
  };

  const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const deliveryOf = (row: DueRow): Delivery => ({
    ...row,
    organizationId: organizationOf(row.endpointId),
    eventType: "WorkItemCompleted",
    ...(LARGE.includes(row.endpointId) ? { body: null, bodyBytes: LARGE_BYTES } : { body: "{}", bodyBytes: 2 }),
    eventKey: null,
    traceparent: null,
    createdAt: START,
  });

  async function readBacklog({ endpointId: id, count, after, isWanted }: BacklogDemand): Promise<BacklogPage> {
    statements++;
    const isBehind = ({ dueAt, deliveryId }: DueRow) =>
      dueAt > after.dueAt || (dueAt.getTime() === after.dueAt.getTime() && deliveryId > after.deliveryId);
    const found = [...rows.values()]
      .filter((row) => row.endpointId === id && isBehind(row))
      .sort((one, other) => one.dueAt.getTime() - other.dueAt.getTime() || (one.deliveryId < other.deliveryId ? -1 : 1))
      .slice(0, count)
      .map((row) => ({ ...row }));
    const due = found.filter(isWanted);
    read += due.length;
    await later(set.readMs);
    return { rows: found, deliveries: due.map(deliveryOf) };
  }

  async function readConfiguration(id: string) {
    configurations++;
    const configuredAt = clock.now();
    await later(1);
    if (disabled.has(id)) return undefined;
    const configuration: Configuration = {
      url: "",
      sealedSecret: "",
      headers: null,
      quarantined: false,
      revision,
      failures: 0,
      pausedUntil: null,
    };
    return { configuration, configuredAt };
  }

  async function makeAttempt(attempt: Attempt): Promise<Outcome> {
    const { delivery, over } = attempt;
    const { deliveryId, endpointId: id } = delivery;
    if (inFlight.has(deliveryId)) most.twice++;
    if (inTurn++ === 0) {
      setImmediate(() => {
        inTurn = 0;
      });
    }
    most.inTurn = Math.max(most.inTurn, inTurn);
    inFlight.set(deliveryId, attempt);
    ofEndpoint.set(id, (ofEndpoint.get(id) ?? 0) + 1);
    most.all = Math.max(most.all, inFlight.size);
    most.endpoint = Math.max(most.endpoint, ofEndpoint.get(id) ?? 0);
    const large = [...inFlight.values()].filter((each) => each.delivery.body === null).length;
    most.largeBytes = Math.max(most.largeBytes, large * LARGE_BYTES);
    const isOver = () => ofEndpoint.set(id, (ofEndpoint.get(id) ?? 0) - 1);
    const end = () => inFlight.delete(deliveryId);
    const without = (outcome: Outcome): Outcome => {
      isOver();
      end();
      return outcome;
    };
    const configuration = await attempt.configuration();
    if (configuration === undefined) return without({ kind: "gone" });
    if (delivery.arrived && delivery.arrived.revision !== String(configuration.revision)) {
      return without({ kind: "left", forMs: 0 });
    }
    const took = tookMs(id);
    await later(took);
    const ending = set.ending(delivery);
    if (ending === "put back") return without({ kind: ending, restMs: 100 });
    if (ending === "not stored") return without({ kind: "left", forMs: 1_000 });
    const key = `${deliveryId}/${delivery.attempts}`;
    made.set(key, (made.get(key) ?? 0) + 1);
    madeBy.set(delivery.organizationId, (madeBy.get(delivery.organizationId) ?? 0) + 1);
    if (delivery.attempts === 0) waited.push(attempt.keptWaiting);
    isOver();
    over(took);
    if (ending === "locked") {
      attempt.locked();
      await set.unlocked;
    }
    await later(3);
    end();
    if (ending === "left") return { kind: "left", forMs: 60_000 };
    if (delivery.arrived && !stored.has(deliveryId)) {
      stored.add(deliveryId);
      const { arrived: _arrived, ...row } = delivery;
      rows.set(deliveryId, row);
    }
    const row = rows.get(deliveryId);
    if (ending === "succeeded" || ending === "locked") {
      rows.delete(deliveryId);
      return { kind: "settled", nextAttemptAt: null };
    }
    const nextAttemptAt = new Date(clock.now().getTime() + RETRY_MS);
    if (row) rows.set(deliveryId, { ...row, attempts: row.attempts + 1, dueAt: nextAttemptAt });
    return { kind: "settled", nextAttemptAt };
  }

  const idle: number[] = [];
  const owner = createOwner(
    {
      ...basics({ clock, log: { ...SILENT, error: (_line, fields) => void errors.push(fields?.endpointId) } }),
      schedule: retrySchedule([RETRY_MS]),
      shards: {
        epochOf: (shard) => (lost.has(shard) ? undefined : 1),
        ownedMs: () => set.ownedMs,
        becameIdle: (shard) => void idle.push(shard),
      } as Partial<Shards> as Shards,
      outage: { isOn: () => set.isOutage } as Outage,
      readBacklog,
      readConfiguration,
      health: { has: () => false } as Partial<HealthQueue> as HealthQueue,
      settlements: { isWriting: () => set.isWriting } as SettleQueue,
      makeAttempt,
    },
    { ...OPTIONS, ...options },
  );

  let emitted = 0;
  /** New deliveries of an endpoint, as a publisher makes them of an event that comes now. */
  function emit(id: string, count: number): HandOver {
    const now = clock.now().toISOString();
    const deliveries = Array.from({ length: count }, () => {
      const deliveryId = `0190a1b2-0000-7000-9000-${(emitted++).toString(16).padStart(12, "0")}`;
      const organizationId = organizationOf(id);
      return { deliveryId, endpointId: id, organizationId, revision: String(revision), readAtUtc: now, event: 0 };
    });
    const key = "0190a1b2-0000-8000-8000-000000000000";
    const event = { eventType: "WorkItemCompleted", body: "{}", traceparent: null, key, receivedAtUtc: now };
    return { stored: true, events: [event], deliveries, work: [] };
  }

  /** The publisher's statement: what the owner has stored is left alone, and of the others there is a message. */
  function storeAll(handOver: HandOver): HandOver {
    const dueAt = new Date(handOver.events[0]?.receivedAtUtc ?? 0);
    const deliveries = handOver.deliveries.filter(({ deliveryId }) => !stored.has(deliveryId));
    for (const { deliveryId, endpointId } of deliveries) {
      stored.add(deliveryId);
      rows.set(deliveryId, { deliveryId, endpointId, dueAt, attempts: 0, interruptions: 0 });
    }
    return { ...handOver, stored: true, deliveries };
  }

  const store = (id: string, count = 1) => storeAll(emit(id, count));

  /** An event arrives, and is stored so much later. */
  function arrive(id: string, count: number, storeAfterMs: number): string[] {
    const arrived = emit(id, count);
    owner.handedOver({ ...arrived, stored: false });
    const ids = arrived.deliveries.map(({ deliveryId }) => deliveryId);
    setTimeout(() => {
      const { deliveries } = storeAll(arrived);
      const work = [{ ...targetOf(id), arrived: deliveries.map(({ deliveryId }) => deliveryId) }];
      owner.handedOver({ stored: true, events: [], deliveries: [], work });
    }, storeAfterMs);
    return ids;
  }

  function sweep(crashed: readonly number[] = []): void {
    const first = new Map<string, DueRow>();
    for (const row of [...rows.values()].sort((one, other) => one.dueAt.getTime() - other.dueAt.getTime())) {
      if (!first.has(row.endpointId) && !disabled.has(row.endpointId)) first.set(row.endpointId, row);
    }
    const found = [...first.values()].map((row) => ({
      ...row,
      organizationId: organizationOf(row.endpointId),
      revision,
      failures: 0,
      pausedUntil: null,
    }));
    owner.found(found, { crashed: new Set(crashed) });
  }

  async function pass(ms: number, { sweepEveryMs = 0 } = {}): Promise<void> {
    for (let passed = 0; passed < ms; passed++) {
      clock.advance(1);
      await jest.advanceTimersByTimeAsync(1);
      if (sweepEveryMs > 0 && passed % sweepEveryMs === 0) sweep();
    }
  }

  return {
    owner,
    errors,
    clock,
    rows,
    made,
    madeBy,
    waited,
    most,
    lost,
    idle,
    disabled,
    inFlight,
    store,
    arrive,
    sweep,
    pass,
    statements: () => statements,
    read: () => read,
    configurations: () => configurations,
    /** The numbers of all deliveries so far, and of those that had their first attempt. */
    emitted: () => ({ all: emitted, attempted: [...made.keys()].filter((key) => key.endsWith("/0")).length }),
    /** An edit whose message to the owner is lost. */
    edit: () => {
      revision++;
    },
    set,
  };
}
