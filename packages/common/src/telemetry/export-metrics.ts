import { type Attributes, type HrTime, ValueType } from "@opentelemetry/api";
import { hrTime } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { emptyResource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import type { Registry } from "prom-client";
import { heraldVersion } from "./metrics.ts";
import { complaining, EXPORT_TIMEOUT_MS, endWithin, exporterOptions, resourceOf } from "./otlp.ts";
import type { TelemetrySource } from "./tracing.ts";

/** Exports a registry's metrics over OTLP/HTTP with JSON, at intervals and at the end, under the names and labels that /metrics shows. */
export function exportMetrics(source: TelemetrySource, registry: Registry): { stop(): Promise<void> } {
  const interval = source.config.OTEL_METRIC_EXPORT_INTERVAL;
  const reader = new PeriodicExportingMetricReader({
    exporter: complaining(new OTLPMetricExporter(exporterOptions(source, "metrics")), "metrics", source.log),
    exportIntervalMillis: interval,
    exportTimeoutMillis: Math.min(interval, EXPORT_TIMEOUT_MS),
    metricProducers: [producerOf(registry)],
  });
  const provider = new MeterProvider({ resource: resourceOf(source), readers: [reader] });
  return { stop: () => endWithin(provider.shutdown()) };
}

/** A value of prom-client; of a histogram, one of its buckets, its sum or its count. */
interface Value {
  value: number;
  labels: Record<string, string | number>;
  metricName?: string;
}

/** prom-client's types have only a part of what it returns. */
interface Family {
  name: string;
  help: string;
  type: string;
  values: Value[];
}

function producerOf(registry: Registry): MetricProducer {
  const startTime = hrTime();
  return {
    async collect() {
      const families = (await registry.getMetricsAsJSON()) as unknown as Family[];
      const endTime = hrTime();
      const metrics = families.map((family) => metricOf(family, startTime, endTime));
      const scope = { name: "herald", version: heraldVersion() };
      return { errors: [], resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope, metrics }] } };
    },
  };
}

/** Counters and histograms count from the start of the process, as in Prometheus. No unit is named: the metric's name has it. */
function metricOf({ name, help, type, values }: Family, startTime: HrTime, endTime: HrTime): MetricData {
  const descriptor = { name, description: help, unit: "", valueType: ValueType.DOUBLE };
  const common = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
  const pointOf = <T>(value: T, attributes: Attributes): DataPoint<T> => ({ startTime, endTime, attributes, value });
  if (type === "histogram") {
    const dataPoints = histogramsOf(values).map(({ labels, histogram }) => pointOf(histogram, labels));
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  // JSON has no NaN, which is what a gauge without a value yet has.
  const known = values.filter(({ value }) => Number.isFinite(value));
  const dataPoints = known.map(({ value, labels }) => pointOf(value, labels));
  return type === "counter"
    ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
}

/** Prometheus counts in each bucket what is in the smaller ones too; OTLP does not. */
function histogramsOf(values: readonly Value[]): { labels: Attributes; histogram: Histogram }[] {
  const byLabels = new Map<string, { labels: Attributes; upTo: number; histogram: Histogram & { sum: number } }>();
  for (const { value, metricName = "", labels: all } of values) {
    const { le, ...labels } = all;
    const key = JSON.stringify(Object.entries(labels).sort());
    const known = byLabels.get(key) ?? {
      labels,
      upTo: 0,
      histogram: { buckets: { boundaries: [], counts: [] }, sum: 0, count: 0 },
    };
    byLabels.set(key, known);
    const { buckets } = known.histogram;
    if (metricName.endsWith("_sum")) known.histogram.sum = value;
    else if (metricName.endsWith("_count")) known.histogram.count = value;
    else {
      buckets.counts.push(value - known.upTo);
      known.upTo = value;
      if (le !== "+Inf") buckets.boundaries.push(Number(le));
    }
  }
  return [...byLabels.values()];
}
