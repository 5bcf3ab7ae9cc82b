export { batcher } from "./batcher.ts";
export { type Clock, systemClock } from "./clock.ts";
export { type Repetition, repeat } from "./repeat.ts";
export { type RetryOptions, retry } from "./retry.ts";
