import { Counter, Gauge, Histogram, type Registry, startAtZero } from "@herald/common/telemetry/metrics";
import { NOTICE_TYPES } from "@herald/contracts";

/** The tasks that the publisher repeats, besides consuming events. */
export const TASKS = ["partitions", "catch-up", "resend", "notices", "retention", "erasure"] as const;

export type PublisherMetrics = ReturnType<typeof createMetrics>;

/** The publisher's metrics. No label has values that grow with customers. */
export function createMetrics(registry: Registry) {
  const registers = [registry];
  const metrics = {
    events: new Counter({
      name: "herald_events_total",
      help: "Business events taken from the broker, by result.",
      labelNames: ["result"] as const,
      registers,
    }),
    deliveries: new Counter({
      name: "herald_fan_out_deliveries_total",
      help: "Deliveries made from arriving events.",
      registers,
    }),
    handedOver: new Counter({
      name: "herald_handed_over_total",
      help: "New deliveries, and endpoints that have some, by whether they could be handed over at once; owners find the others in PostgreSQL.",
      labelNames: ["result"] as const,
      registers,
    }),
    batchSize: new Histogram({
      name: "herald_fan_out_batch_events",
      help: "Events stored by one statement.",
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
      registers,
    }),
    caughtUp: new Counter({
      name: "herald_catch_up_deliveries_total",
      help: "Deliveries that a catch-up made, since its endpoint had missed them.",
      registers,
    }),
    resent: new Counter({
      name: "herald_resend_deliveries_total",
      help: "Deliveries made by admins' resends.",
      registers,
    }),
    notices: new Counter({
      name: "herald_notices_total",
      help: "Notices for the product, by type and by the broker's answer; unrouted ones reach no queue.",
      labelNames: ["type", "result"] as const,
      registers,
    }),
    unkept: new Counter({
      name: "herald_undelivered_events_unkept_total",
      help: "Events that were not accepted and that the search does not find: beyond the limit of an organization and hour, or without an id.",
      registers,
    }),
    erased: new Counter({
      name: "herald_retention_erased_total",
      help: "Erased because of their age: partitions of the history, changes, resends, and events that were not accepted.",
      labelNames: ["kind"] as const,
      registers,
    }),
    erasedOfDeleted: new Counter({
      name: "herald_erasure_deliveries_total",
      help: "Deliveries erased because their endpoint was deleted.",
      registers,
    }),
    expired: new Counter({
      name: "herald_expired_deliveries_total",
      help: "Unfinished deliveries that became too old to be kept.",
      registers,
    }),
    taskFailures: new Counter({
      name: "herald_task_failures_total",
      help: "Steps of the publisher's tasks that failed; each is tried again.",
      labelNames: ["task"] as const,
      registers,
    }),
    retentionPassed: new Gauge({
      name: "herald_retention_last_pass_timestamp_seconds",
      help: "When this process last finished a pass of the retention.",
      registers,
    }),
  };
  startAtZero(metrics.events, "result", ["received", "stale", "ignored", "rejected"]);
  startAtZero(metrics.handedOver, "result", ["sent", "dropped"]);
  startAtZero(metrics.erased, "kind", ["partition", "change", "resend", "undelivered", "rate"]);
  startAtZero(metrics.taskFailures, "task", TASKS);
  for (const type of NOTICE_TYPES) {
    for (const result of ["published", "unrouted", "failed"]) metrics.notices.inc({ type, result }, 0);
  }
  return metrics;
}
