import { median } from "../../statistics.ts";

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
