export { createLog, type Log, type LogFields, type LogLevel } from "./log.ts";
export { Counter, createRegistry, Gauge, Histogram, Registry, startAtZero } from "./metrics.ts";
export { type OperationsServer, type ReadinessChecks, startOperationsServer } from "./operations-server.ts";
