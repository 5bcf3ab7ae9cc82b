export { type PublisherTuning, publisherSettings } from "./config.ts";
export { exportHeldEvents, exportLag } from "./lag-metrics.ts";
export { createMetrics } from "./metrics.ts";
export { startPublisher } from "./start-publisher.ts";
