import type { Inspector } from "@herald/common/broker/broker";
import type { Names } from "@herald/common/broker/topology";
import { readBlockingSessions } from "@herald/common/database/blocking-sessions";
import { COUNTED_AT_MOST, readDaysAhead, readLag } from "@herald/common/database/lag";
import type { Reads } from "@herald/common/database/queries";
import type { Log } from "@herald/common/telemetry/log";
import { Gauge, type Registry, readGauge, reading } from "@herald/common/telemetry/metrics";
import type { Basics } from "./basics.ts";
import type { EventsConsumer } from "./inbox/consume-events.ts";

/** Scrapes within this time, for example of several Prometheus servers, share a reading. */
const READING_LIFE_MS = 5_000;

/**
 * Figures of all of Herald, read when they are scraped: each publisher exports the same, so queries take the `max` of them. A figure that can't be
 * read is not exported, since the last value from before an outage would mislead. `probes` has connections of its own, which the work does not take.
 */
export function exportLag(
  registry: Registry,
  { log, queries, probes, inspector, names, clock }: Basics & { probes: Reads; inspector: Inspector; names: Names },
  { endpointConcurrency }: { endpointConcurrency: number },
): void {
  const of = { registry, log, failing: new Set() };
  const ofLag = figures(of, () => readLag(queries, { now: clock.now(), endpointConcurrency }));
  ofLag(
    "herald_deliveries_unfinished",
    "Deliveries that are due and could be attempted at once, or are under way; are due and wait for their receiver; are scheduled for later; " +
      `or are parked with a disabled endpoint; counted to ${COUNTED_AT_MOST}.`,
    ({ due, dueForHerald, scheduled, parked }) => ({
      due: dueForHerald,
      receiver: Math.max(0, due - dueForHerald),
      scheduled,
      parked,
    }),
    "state",
  );
  ofLag(
    "herald_endpoints",
    "Endpoints that are enabled, quarantined since no dispatcher can open their signing secret, paused by an admin, or disabled after failures.",
    (lag) => ({
      enabled: lag.endpointsEnabled,
      quarantined: lag.endpointsQuarantined,
      paused: lag.endpointsPaused,
      disabled: lag.endpointsFailed,
    }),
    "state",
  );
  ofLag(
    "herald_oldest_due_delivery_age_seconds",
    "Age of the oldest due delivery that waits for Herald, and of the oldest one that waits for its receiver.",
    (lag) => ({ herald: secondsSince(lag.oldestForHeraldAt), receiver: secondsSince(lag.oldestForReceiverAt) }),
    "waits_for",
  );
  ofLag(
    "herald_shards",
    "Shards with a living owner, without an owner, so that their deliveries wait, and with dispatching stopped by an operator.",
    (lag) => ({ owned: lag.shardsOwned, unowned: lag.shardsUnowned, stopped: lag.shardsStopped }),
    "state",
  );
  ofLag(
    "herald_notices_waiting",
    "Notices that the broker has not confirmed ten seconds after they were made.",
    (lag) => lag.notices,
  );
  ofLag(
    "herald_catch_ups_due",
    "Endpoints whose catch-up is due: after a resume or an edit, or as the daily guard.",
    ({ catchUps, guards }) => ({ awaited: catchUps, guard: guards }),
    "kind",
  );
  ofLag(
    "herald_oldest_transaction_age_seconds",
    "Age of the oldest transaction that keeps dead rows from being vacuumed.",
    (lag) => lag.oldestTransactionSeconds,
  );

  ofLag(
    "herald_database_connections",
    "PostgreSQL's connections, of all its databases: those that are used, and how many there may be.",
    ({ connectionsUsed, connectionsAllowed }) => ({ used: connectionsUsed, allowed: connectionsAllowed }),
    "state",
  );
  // Apart, since each waits for other locks.
  const ofPartitions = figures(of, () => readDaysAhead(queries, clock.now()));
  ofPartitions("herald_partitions_ahead", "Days after today that have partitions.", (days) => days);
  const ofSessions = figures(of, () => readBlockingSessions(probes));
  ofSessions(
    "herald_blocking_sessions",
    "Sessions of PostgreSQL for whose locks statements of Herald have waited for a second or more.",
    (sessions) => sessions.length,
  );

  function secondsSince(time: Date | null): number {
    return time === null ? 0 : Math.max(0, (clock.now().getTime() - time.getTime()) / 1_000);
  }

  const messagesIn = async (queues: readonly string[]) => {
    const depths = await Promise.all(queues.map((queue) => inspector.depthOf(queue)));
    return depths.reduce((sum, { messages }) => sum + messages, 0);
  };
  // The inbox queues are one figure: single buckets only show single organizations. What waits for dispatchers is in PostgreSQL too.
  const ofQueues = figures(of, async () =>
    inspector.isOpen()
      ? {
          inbox: await messagesIn([...names.inboxQueues, ...names.behindQueues]),
          "dead-letters": await messagesIn([names.deadLetterQueue]),
          rejected: await messagesIn([names.rejectedQueue]),
        }
      : undefined,
  );
  ofQueues("herald_queue_messages", "Messages that wait in a queue for a consumer.", (queues) => queues, "queue");
}

/** Figures of this process: the broker does not count the messages that a process holds. */
export function exportHeldEvents(registry: Registry, consumer: () => EventsConsumer | undefined): void {
  readGauge(
    registry,
    "herald_oldest_event_age_seconds",
    "Age of the oldest event that this process has taken from the broker and not stored yet.",
    () => consumer()?.oldestAgeSeconds() ?? 0,
  );
  readGauge(
    registry,
    "herald_events_rest_seconds",
    "For how long this process has not read its connection for events, since it holds as many bytes as it may; after 15 s all go back to the broker.",
    () => (consumer()?.restingMs() ?? 0) / 1_000,
  );
}

type ExportFigure<Reading> = (
  name: string,
  help: string,
  /** One number, or with a label one number for each of its values. */
  figureOf: (reading: Reading) => number | Record<string, number>,
  label?: "state" | "waits_for" | "kind" | "queue",
) => void;

/** The figures of one reading. `failing` has the readings that can't be made now. */
function figures<Reading>(
  { registry, log, failing }: { registry: Registry; log: Log; failing: Set<unknown> },
  read: () => Promise<Reading | undefined>,
): ExportFigure<Reading> {
  const latest = reading(READING_LIFE_MS, read, {
    onFailure(error) {
      // Alerts on these figures are silent, so the log says it once, besides readiness: a right may be missing.
      if (failing.size === 0) log.warn("how far behind Herald is can't be read", { error });
      failing.add(read);
    },
  });
  return (name, help, figureOf, label) => {
    new Gauge<string>({
      name,
      help,
      labelNames: label ? [label] : [],
      registers: [registry],
      async collect() {
        const figures = await latest();
        // A reset of a figure without a label would export 0.
        if (label) this.reset();
        else this.remove();
        if (figures === undefined) return;
        failing.delete(read);
        const figure = figureOf(figures);
        if (typeof figure === "number") this.set(figure);
        else for (const [value, number] of Object.entries(figure)) this.set({ [label as string]: value }, number);
      },
    });
  };
}
