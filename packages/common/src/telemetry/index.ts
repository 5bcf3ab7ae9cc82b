export { createLog, type Log, type LogFields, type LogLevel } from "./log.ts";
export { Counter, createRegistry, Gauge, Histogram, Registry, startAtZero } from "./metrics.ts";
export { type OperationsServer, type ReadinessChecks, startOperationsServer } from "./operations-server.ts";
export { readTraceparent } from "./trace-context.ts";
export { type SpanOptions, startTracing, type TraceSpan, type Tracing } from "./tracing.ts";
