import { setTimeout as sleep } from "node:timers/promises";
import type { Busy, Traffic } from "./traffic.ts";

/** Even traffic that was measured for a time. */
export interface Steady {
  emitted: number;
  delays: number[];
  /** When the events of these delays were planned. */
  plannedAt: number[];
  /** Where these events arrived. */
  paths: string[];
  busy: Busy;
}

/** Emits evenly from an empty start, and resolves when what arrives in time has arrived. */
export async function measureSteady(
  traffic: Traffic,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Steady> {
  await traffic.reset();
  await traffic.busy();
  const emitted = await traffic.emitEvenly(perSecond, seconds);
  const busy = await traffic.busy();
  await sleep(500);
  const { delays, plannedAt, paths } = await traffic.arrivals();
  return { emitted, delays, plannedAt, paths, busy };
}
