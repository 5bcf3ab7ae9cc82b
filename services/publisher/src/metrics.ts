import { metricsIn, type Registry } from "@herald/common/telemetry/metrics";
import { NOTICE_TYPES } from "@herald/contracts";

export const TASKS = ["partitions", "catch-up", "resend", "notices", "retention", "erasure"] as const;

/** One that is set aside waits with the rejected ones and broke no rule: PostgreSQL can't hold it, or RabbitMQ took it out of the inbox. */
export const EVENT_RESULTS = ["received", "stale", "ignored", "rejected", "set_aside"] as const;

export type PublisherMetrics = ReturnType<typeof createMetrics>;

/** The publisher's metrics. No label has values that grow with customers. */
export function createMetrics(registry: Registry) {
  const { counter, gauge, histogram } = metricsIn(registry);
  return {
    events: counter(
      "herald_events_total",
      "Business events taken from the broker, by result; those that are set aside broke no rule, and wait with the rejected ones.",
      { result: EVENT_RESULTS },
    ),
    deliveries: counter("herald_fan_out_deliveries_total", "Deliveries made from arriving events."),
    handedOver: counter(
      "herald_handed_over_total",
      "New deliveries, and endpoints that have some, by whether they could be handed over at once; owners find the others in PostgreSQL.",
      { result: ["sent", "dropped"] },
    ),
    batchSize: histogram(
      "herald_fan_out_batch_events",
      "Events stored by one statement.",
      [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
    ),
    caughtUp: counter(
      "herald_catch_up_deliveries_total",
      "Deliveries that a catch-up made, since its endpoint had missed them.",
    ),
    resent: counter("herald_resend_deliveries_total", "Deliveries made by admins' resends."),
    notices: counter(
      "herald_notices_total",
      "Notices for the product, by type and by the broker's answer; unrouted ones reach no queue.",
      { type: NOTICE_TYPES, result: ["published", "unrouted", "failed"] },
    ),
    unkept: counter(
      "herald_undelivered_events_unkept_total",
      "Events that were not accepted and that the search does not find: beyond the limit of an organization and hour, or without an id.",
    ),
    erased: counter(
      "herald_retention_erased_total",
      "Erased because of their age: partitions of the history, changes, resends, and events that were not accepted.",
      { kind: ["partition", "change", "resend", "undelivered", "rate"] },
    ),
    erasedOfDeleted: counter(
      "herald_erasure_deliveries_total",
      "Deliveries erased because their endpoint was deleted.",
    ),
    expired: counter("herald_expired_deliveries_total", "Unfinished deliveries that became too old to be kept."),
    taskFailures: counter(
      "herald_task_failures_total",
      "Steps of the publisher's tasks that failed; each is tried again.",
      { task: TASKS },
    ),
    retentionPassed: gauge(
      "herald_retention_last_pass_timestamp_seconds",
      "When this process last finished a pass of the retention.",
    ),
  };
}
