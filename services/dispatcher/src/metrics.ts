import { metricsIn, type Registry, readGauge } from "@herald/common/telemetry/metrics";

export type DispatcherMetrics = ReturnType<typeof createMetrics>;

/** Why a delivery is attempted: it is due, or an API request asks for it. */
const SOURCES = ["due", "manual"] as const;
export type Source = (typeof SOURCES)[number];

const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** The dispatcher's metrics. No label has values that grow with customers. */
export function createMetrics(registry: Registry) {
  const { counter, gauge, histogram } = metricsIn(registry);
  return {
    inFlight: gauge("herald_attempts_in_flight", "Attempts under way, until they are settled, by their source.", {
      source: SOURCES,
    }),
    attempts: counter("herald_attempts_total", "Settled attempts, by outcome.", { outcome: ["succeeded", "failed"] }),
    shardsOwned: gauge("herald_shards_owned", "Shards that this process owns."),
    attemptDuration: histogram(
      "herald_attempt_duration_seconds",
      "From the start of an attempt to the receiver's response, or to its failure.",
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    ),
    // 10 s is the objective's.
    firstAttemptDelay: histogram(
      "herald_first_attempt_delay_seconds",
      "From the creation of a delivery to the start of its first attempt, without deliveries that waited for their receiver.",
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
    ),
    endpointsDisabled: counter("herald_endpoints_disabled_total", "Endpoints disabled after consecutive failures."),
    readBatchSize: histogram("herald_read_batch_deliveries", "Due deliveries that one statement read.", BATCH_SIZES),
    handedOver: counter(
      "herald_deliveries_handed_over_total",
      "Deliveries that publishers handed over to this process: kept in memory, in memory already, left in PostgreSQL behind older ones, or not to be attempted before they are stored.",
      { result: ["kept", "known", "left", "unstored"] },
    ),
    resultsLate: counter(
      "herald_results_late_total",
      "Failed attempts that do not count: when they ended, another dispatcher had their shard, or the delivery was deleted.",
    ),
    unrecorded: counter(
      "herald_attempts_unrecorded_total",
      "Attempts that were signed and sent and are in no table, though their endpoint is: forged by an intruder, lost by PostgreSQL, or not storable.",
    ),
    interruptions: counter(
      "herald_interruptions_total",
      "Deliveries that may have been in flight when their dispatcher died, and are attempted again.",
    ),
    healthRetries: counter(
      "herald_health_retries_total",
      "Repeated writes of an endpoint's health: its row was locked or just changed, or PostgreSQL was away.",
    ),
    outage: gauge(
      "herald_outage",
      "1 while this process can reach no receiver: deliveries wait, and no failure counts for its receiver.",
    ),
    givenBack: counter(
      "herald_attempts_given_back_total",
      "Attempts that do not count, since Herald itself had an outage; they are made again.",
    ),
    settleBatchSize: histogram("herald_settle_batch_attempts", "Attempts settled by one statement.", BATCH_SIZES),
  };
}

export function exportUnstored(registry: Registry, oldestSeconds: () => number): void {
  readGauge(
    registry,
    "herald_oldest_unstored_result_seconds",
    "Age of the oldest result of an attempt that this process has not stored yet: PostgreSQL takes none, or another session holds its row.",
    oldestSeconds,
  );
}
