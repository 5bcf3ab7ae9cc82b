import { Counter, Gauge, Histogram, type Registry, startAtZero } from "@herald/common/telemetry/metrics";

export type DispatcherMetrics = ReturnType<typeof createMetrics>;

/** Where a delivery comes from: a hint of a new delivery, a hint of a manual delivery, or PostgreSQL. */
const SOURCES = ["first", "manual", "backlog"] as const;
export type Source = (typeof SOURCES)[number];

const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** What the dispatcher counts. No label has values that grow with customers. */
export function createMetrics(registry: Registry) {
  const registers = [registry];
  const inFlight: Record<Source, number> = { first: 0, manual: 0, backlog: 0 };
  new Gauge({
    name: "herald_attempts_in_flight",
    help: "Attempts under way, from the claim to the end of their settlement, by the source of the delivery.",
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
    /** Counts the deliveries that are under way as in flight, by their source. */
    counted<Delivery>(
      source: Source,
      deliver: (delivery: Delivery) => Promise<void>,
    ): (delivery: Delivery) => Promise<void> {
      return async (delivery) => {
        inFlight[source]++;
        try {
          await deliver(delivery);
        } finally {
          inFlight[source]--;
        }
      };
    },
    attemptDuration: new Histogram({
      name: "herald_attempt_duration_seconds",
      help: "From the start of an attempt to the receiver's response, or to its failure.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    }),
    firstAttemptDelay: new Histogram({
      name: "herald_first_attempt_delay_seconds",
      help: "From the making of a delivery to the start of its first attempt.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 300, 1800],
      registers,
    }),
    endpointsDisabled: new Counter({
      name: "herald_endpoints_disabled_total",
      help: "Endpoints disabled after consecutive failures.",
      registers,
    }),
    claimBatchSize: new Histogram({
      name: "herald_claim_batch_deliveries",
      help: "Hints of which one statement claimed the deliveries.",
      buckets: BATCH_SIZES,
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
