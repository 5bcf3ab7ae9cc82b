export { type DispatcherTuning, dispatcherSettings } from "./config.ts";
export { createEgressProxy } from "./http/egress-proxy.ts";
export { createMetrics, exportUnstored } from "./metrics.ts";
export { startDispatcher } from "./start-dispatcher.ts";
