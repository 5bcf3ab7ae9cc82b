export { projectFolder } from "./folders.ts";
export { freePort } from "./ports.ts";
export { type Postgres, type PostgresOptions, startPostgres } from "./postgres.ts";
export { endStaleProcesses, type ProcessSpec, type RunningProcess, startProcess } from "./processes.ts";
export { findOrFetchPrometheus, type PrometheusPrograms } from "./prometheus.ts";
export { type Rabbitmq, startRabbitmq } from "./rabbitmq.ts";
export { findRabbitmqServer, type RabbitmqNode, startPortMapper, startRabbitmqNode } from "./rabbitmq-node.ts";
