import { Counter, Gauge, Histogram, type Registry, startAtZero } from "@herald/common/telemetry/metrics";

export type DispatcherMetrics = ReturnType<typeof createMetrics>;

/** Why a delivery is attempted: it is due, or an API request asks for it. */
const SOURCES = ["due", "manual"] as const;
export type Source = (typeof SOURCES)[number];

const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** The dispatcher's metrics. No label has values that grow with customers. */
export function createMetrics(registry: Registry) {
  const registers = [registry];
  const inFlight: Record<Source, number> = { due: 0, manual: 0 };
  new Gauge({
    name: "herald_attempts_in_flight",
    help: "Attempts under way, until they are settled, by their source.",
    labelNames: ["source"] as const,
    registers,
    collect() {
      for (const source of SOURCES) this.set({ source }, inFlight[source]);
    },
  });
  const attempts = new Counter({
    name: "herald_attempts_total",
    help: "Settled attempts, by outcome.",
    labelNames: ["outcome"] as const,
    registers,
  });
  startAtZero(attempts, "outcome", ["succeeded", "failed"]);
  return {
    attempts,
    /** An attempt begins. Returns the function to call when it is settled. */
    begin(source: Source): () => void {
      inFlight[source]++;
      return () => void inFlight[source]--;
    },
    shardsOwned: new Gauge({
      name: "herald_shards_owned",
      help: "Shards that this process owns.",
      registers,
    }),
    attemptDuration: new Histogram({
      name: "herald_attempt_duration_seconds",
      help: "From the start of an attempt to the receiver's response, or to its failure.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    }),
    firstAttemptDelay: new Histogram({
      name: "herald_first_attempt_delay_seconds",
      help: "From the creation of a delivery to the start of its first attempt, without deliveries that waited for their receiver.",
      // 10 s is the objective's.
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
      registers,
    }),
    endpointsDisabled: new Counter({
      name: "herald_endpoints_disabled_total",
      help: "Endpoints disabled after consecutive failures.",
      registers,
    }),
    readBatchSize: new Histogram({
      name: "herald_read_batch_deliveries",
      help: "Due deliveries that one statement read.",
      buckets: BATCH_SIZES,
      registers,
    }),
    handedOver: new Counter({
      name: "herald_deliveries_handed_over_total",
      help: "Deliveries that publishers handed over to this process: attempted without being read from PostgreSQL, or left there for later.",
      labelNames: ["result"] as const,
      registers,
    }),
    resultsLate: new Counter({
      name: "herald_results_late_total",
      help: "Failed attempts that do not count: when they ended, another dispatcher had their shard, or the delivery was deleted.",
      registers,
    }),
    unrecorded: new Counter({
      name: "herald_attempts_unrecorded_total",
      help: "Attempts that were signed and sent and are in no table, though their endpoint is: forged by an intruder, lost by PostgreSQL, or not storable.",
      registers,
    }),
    interruptions: new Counter({
      name: "herald_interruptions_total",
      help: "Deliveries that may have been in flight when their dispatcher died, and are attempted again.",
      registers,
    }),
    healthRetries: new Counter({
      name: "herald_health_retries_total",
      help: "Repeated writes of an endpoint's health: its row was locked or just changed, or PostgreSQL was away.",
      registers,
    }),
    outage: new Gauge({
      name: "herald_outage",
      help: "1 while this process can reach no receiver: deliveries wait, and no failure counts for its receiver.",
      registers,
    }),
    givenBack: new Counter({
      name: "herald_attempts_given_back_total",
      help: "Attempts that do not count, since Herald itself had an outage; they are made again.",
      registers,
    }),
    settleBatchSize: new Histogram({
      name: "herald_settle_batch_attempts",
      help: "Attempts settled by one statement.",
      buckets: BATCH_SIZES,
      registers,
    }),
  };
}
