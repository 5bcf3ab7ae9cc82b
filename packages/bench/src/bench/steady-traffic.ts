import { setTimeout as sleep } from "node:timers/promises";
import { EXACTLY_ONCE, type FigureKind, RIG_LOAD } from "./row.ts";
import { quantile } from "./statistics.ts";
import type { Busy, Traffic } from "./traffic.ts";

/** Even traffic that was measured for a time. */
export interface Steady {
  emitted: number;
  delays: number[];
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
  const { delays } = await traffic.arrivals();
  return { emitted, delays, busy };
}

/**
 * The figures of a row that asks what traffic notices of something beside it, which concerns others: the same traffic
 * alone, and a moment later beside it.
 *
 * @param beside names it, as in "while 10 % hang"
 */
export function besideFigures(beside: string, bar: { atMost: number }) {
  return {
    aloneP95: { label: "95 % within, alone", unit: "ms" },
    besideP95: { label: `95 % within, ${beside}`, unit: "ms" },
    ratio: { label: "the one to the other", unit: "x", bar },
    aloneP50: { label: "half within, alone", unit: "ms" },
    besideP50: { label: `half within, ${beside}`, unit: "ms" },
    ...RIG_LOAD,
    ...EXACTLY_ONCE,
  } as const satisfies Record<string, FigureKind>;
}

/** All of `besideFigures` but those of EXACTLY_ONCE. */
export function besideValues(alone: Steady, beside: Steady) {
  const [aloneP95, besideP95] = [quantile(alone.delays, 0.95), quantile(beside.delays, 0.95)];
  return {
    aloneP95,
    besideP95,
    ratio: besideP95 / aloneP95,
    aloneP50: quantile(alone.delays, 0.5),
    besideP50: quantile(beside.delays, 0.5),
    receiverBusy: Math.max(alone.busy.receiver, beside.busy.receiver),
    emitterBusy: Math.max(alone.busy.emitter, beside.busy.emitter),
  };
}
