import type { Inspector } from "@herald/common/broker/inspector";
import type { Names } from "@herald/common/broker/topology";
import { COUNTED_AT_MOST, type Lag, readLag } from "@herald/common/database/lag";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { Gauge, type Registry } from "@herald/common/telemetry/metrics";

/** Scrapes within this time, for example of several Prometheus servers, share a reading. */
const READING_LIFE_MS = 5_000;

interface Parts {
  queries: Queries;
  inspector: Inspector;
  names: Names;
  clock: Clock;
}

/**
 * Figures of all of Herald, read when they are scraped: each publisher exports the same, so queries take the `max` of them.
 * A figure that can't be read is not exported: none is better than the last one before the outage.
 */
export function exportLag(registry: Registry, { queries, inspector, names, clock }: Parts): void {
  const registers = [registry];
  const lag = shared(() => readLag(queries, clock.now()));

  new Gauge({
    name: "herald_deliveries_unfinished",
    help: `Deliveries that are due, scheduled for later, or wait with a disabled endpoint; counted to ${COUNTED_AT_MOST}.`,
    labelNames: ["state"] as const,
    registers,
    async collect() {
      const read = await lag();
      this.reset();
      if (read) for (const state of ["due", "scheduled", "disabled"] as const) this.set({ state }, read[state]);
    },
  });
  new Gauge({
    name: "herald_endpoints",
    help: "Endpoints that are enabled, paused by an admin, or disabled after failures.",
    labelNames: ["state"] as const,
    registers,
    async collect() {
      const read = await lag();
      this.reset();
      if (!read) return;
      this.set({ state: "enabled" }, read.endpointsEnabled);
      this.set({ state: "paused" }, read.endpointsPaused);
      this.set({ state: "disabled" }, read.endpointsFailed);
    },
  });
  single(
    "herald_oldest_due_delivery_age_seconds",
    "For how long the delivery has been due that waits longest.",
    (read) =>
      read.oldestDueAt === null ? 0 : Math.max(0, (clock.now().getTime() - read.oldestDueAt.getTime()) / 1_000),
  );
  single("herald_notices_waiting", "Notices that the broker has not confirmed yet.", (read) => read.notices);
  new Gauge({
    name: "herald_catch_ups_due",
    help: "Endpoints whose catch-up is due: after a resume or an edit, for which somebody waits, or as the daily guard.",
    labelNames: ["kind"] as const,
    registers,
    async collect() {
      const read = await lag();
      this.reset();
      if (!read) return;
      this.set({ kind: "awaited" }, read.catchUps);
      this.set({ kind: "guard" }, read.guards);
    },
  });
  single("herald_partitions_ahead", "Days after today that have partitions.", (read) => read.partitionsAhead);
  single(
    "herald_oldest_transaction_age_seconds",
    "For how long the oldest transaction has kept dead rows from being vacuumed.",
    (read) => read.oldestTransactionSeconds,
  );

  function single(name: string, help: string, value: (read: Lag) => number): void {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const read = await lag();
        if (read) this.set(value(read));
        else this.remove();
      },
    });
  }

  const depths = shared(() =>
    Promise.all(
      // The sixteen inbox queues are one figure: which bucket waits is a matter of one organization or another. Hints are no
      // figure: they are acknowledged at once, and their queue may be away with its node.
      Object.entries({
        inbox: names.inboxQueues,
        rejected: [names.rejectedQueue],
        manual: [names.manualQueue],
      }).map(async ([queue, each]) => {
        const read = await Promise.all(each.map((name) => inspector.depthOf(name)));
        const messages = read.reduce((sum, depth) => sum + depth.messages, 0);
        return { queue, messages, consumers: Math.min(...read.map(({ consumers }) => consumers)) };
      }),
    ),
  );
  for (const figure of ["messages", "consumers"] as const) {
    new Gauge({
      name: `herald_queue_${figure}`,
      help:
        figure === "messages"
          ? "Messages that wait in a queue for a consumer."
          : "Consumers of a queue; the fewest of an inbox queue.",
      labelNames: ["queue"] as const,
      registers,
      async collect() {
        const read = await depths();
        this.reset();
        for (const depth of read ?? []) this.set({ queue: depth.queue }, depth[figure]);
      },
    });
  }
}

/** Calls within the life of a reading share it; the result is undefined where the reading failed. */
function shared<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  let reading: Promise<T | undefined> | undefined;
  let readAt = 0;
  return () => {
    const now = performance.now();
    if (reading === undefined || now - readAt > READING_LIFE_MS) {
      readAt = now;
      reading = read().catch(() => undefined);
    }
    return reading;
  };
}
