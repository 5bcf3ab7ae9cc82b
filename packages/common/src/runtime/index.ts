export { batcher } from "./batcher.ts";
export { type Clock, systemClock } from "./clock.ts";
export { runService, type Service } from "./run-service.ts";
