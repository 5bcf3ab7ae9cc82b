import { setTimeout as sleep } from "node:timers/promises";

/** Runs a step, and rests for as long as it took. So a task of many steps uses at most half of one connection. */
export async function resting<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const begun = performance.now();
  const result = await step();
  await sleep(performance.now() - begun, undefined, { signal }).catch(() => undefined);
  return result;
}
