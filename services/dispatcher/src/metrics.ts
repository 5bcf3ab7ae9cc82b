import { Counter, Gauge, Histogram, type Registry } from "@herald/common/telemetry";
import type { EndpointSlots } from "./endpoint-slots.ts";

export type DispatcherMetrics = ReturnType<typeof createMetrics>;

/** What the dispatcher counts. No label has values that grow with customers. */
export function createMetrics(registry: Registry, slots: EndpointSlots) {
  const registers = [registry];
  new Gauge({
    name: "herald_attempts_in_flight",
    help: "Attempts that are under way.",
    registers,
    collect() {
      this.set(slots.total());
    },
  });
  return {
    attempts: new Counter({
      name: "herald_attempts_total",
      help: "Settled attempts, by outcome.",
      labelNames: ["outcome"] as const,
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
      help: "From the making of a delivery to the start of its first attempt.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 300, 1800],
      registers,
    }),
    endpointsDisabled: new Counter({
      name: "herald_endpoints_disabled_total",
      help: "Endpoints disabled after consecutive failures.",
      registers,
    }),
  };
}
