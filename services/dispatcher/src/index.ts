export { createEgressProxy } from "./attempt/egress-proxy.ts";
export { type DispatcherTuning, dispatcherSettings } from "./config.ts";
export { createMetrics, exportUnstored } from "./metrics.ts";
export { startDispatcher } from "./start-dispatcher.ts";
