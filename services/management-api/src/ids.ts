import type { Clock } from "@herald/common/runtime/clock";
import { v7 } from "uuid";

/** Makes UUIDv7 ids, whose order is that of their making: by the clock, and by a counter within its millisecond. */
export function idSource(clock: Clock): () => string {
  let sequence = 0;
  return () => {
    sequence = (sequence + 1) % 2 ** 32;
    return v7({ msecs: clock.now().getTime(), seq: sequence });
  };
}
