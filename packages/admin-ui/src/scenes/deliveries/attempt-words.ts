import type { AttemptCounts } from "@herald/contracts";
import { formats } from "../../common/formats.ts";
import { duration } from "../../common/time/words.ts";

/** What a bar of the chart stands for. */
export type Unit = "hour" | "day";

/** A bar of the chart. */
export interface Bar extends AttemptCounts {
  startMs: number;
}

/** "1,303 attempts in the last 7 days: 1,300 succeeded, 3 failed"; leaves out what is none. */
export function attemptsInWords({ succeeded, failed }: AttemptCounts, period: string): string {
  const all = succeeded + failed;
  if (all === 0) return `No attempts ${period}`;
  const parts = Object.entries({ succeeded, failed })
    .filter(([, many]) => many > 0)
    .map(([outcome, many]) => `${formats.number(many)} ${outcome}`);
  return `${formats.number(all)} ${all === 1 ? "attempt" : "attempts"} ${period}: ${parts.join(", ")}`;
}

/** When an hour begins, "2:00 PM", or 24 hours, "11/20, 2:00 PM". */
export function beginning({ startMs }: Pick<Bar, "startMs">, unit: Unit): string {
  return unit === "hour" ? formats.hour(startMs) : `${formats.day(startMs)}, ${formats.hour(startMs)}`;
}

/** The part that succeeded, "99.9 %"; rounded down, so that it is 100 only where nothing failed. */
export function successRate({ succeeded, failed }: AttemptCounts): string {
  return `${formats.number(Math.floor((1_000 * succeeded) / (succeeded + failed)) / 10)} %`;
}

/** The API counts all attempts together that took no longer. */
const FASTEST_MS = 50;

/** An estimated duration: "about 1.3 s", "50 ms". */
export function about(lengthMs: number): string {
  return lengthMs <= FASTEST_MS ? duration(FASTEST_MS) : `about ${duration(lengthMs)}`;
}
