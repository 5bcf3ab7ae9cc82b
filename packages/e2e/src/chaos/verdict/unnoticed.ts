import { median } from "../../statistics.ts";
import type { Verdict } from "./reconcile.ts";

/** What steady receivers must not notice of what happens to Herald: a failed attempt, and a delivery that comes twice where that is not allowed. */
export function noticed({ figures }: Verdict, { mayRepeat }: { mayRepeat: boolean }): string[] {
  const { failedAttempts, requests, deliveries } = figures;
  const complaints: string[] = [];
  if (failedAttempts > 0) complaints.push(`${failedAttempts} attempts failed, none for a reason of the receiver's`);
  if (!mayRepeat && requests !== deliveries) complaints.push(`${deliveries} deliveries came as ${requests} requests`);
  return complaints;
}

/** The longest time without any arrival that began after `from` and before `until`; all in milliseconds. Pure. */
export function longestPauseAfter(arrivals: readonly number[], from: number, until: number): number {
  let longest = 0;
  let last = from;
  for (const at of [...arrivals].filter((each) => each > from).sort((a, b) => a - b)) {
    longest = Math.max(longest, at - last);
    last = at;
    if (at > until) return longest;
  }
  return Math.max(longest, until - last);
}

/** One figure over the time of a run, and whether it grew. */
export interface Course {
  /** Medians of the run's quarters, the first of which warms up. */
  quarters: [number, number, number, number];
  highest: number;
  /** The last quarter is no more than a tenth above the second one, or no more than the figure's own tolerance. */
  flat: boolean;
}

const GROWTH = 1.1;

/**
 * Judges a series of samples, in the order in which they were taken.
 *
 * @param tolerance how much it may grow whatever its size, in its own unit: what wobbles around nothing has no tenth
 */
export function courseOf(samples: readonly number[], tolerance: number): Course {
  const quarter = (index: number) =>
    median(samples.slice(Math.floor((samples.length * index) / 4), Math.floor((samples.length * (index + 1)) / 4)));
  const quarters: Course["quarters"] = [quarter(0), quarter(1), quarter(2), quarter(3)];
  const [, second, , last] = quarters;
  return { quarters, highest: Math.max(...samples), flat: last <= Math.max(second * GROWTH, second + tolerance) };
}
