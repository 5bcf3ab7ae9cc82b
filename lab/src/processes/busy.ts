import { performance } from "node:perf_hooks";

let last = performance.eventLoopUtilization();

/** Share of the time since the last call that this thread worked, in percent: near 100 it is what everything waits for. */
export function busyPercent(): number {
  const now = performance.eventLoopUtilization();
  const { utilization } = performance.eventLoopUtilization(now, last);
  last = now;
  return utilization * 100;
}

/** Milliseconds by a clock that all processes of a machine share, finer than `Date.now`. */
export function sharedNow(): number {
  return performance.timeOrigin + performance.now();
}
