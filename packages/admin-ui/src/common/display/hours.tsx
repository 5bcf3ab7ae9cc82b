import type { HourOfDeliveries, Outcome } from "@herald/contracts";
import { memo, useMemo } from "react";
import { formats, tally } from "../formats.ts";
import css from "./display.module.css";
import { outcomeWords } from "./status.ts";

const WIDTH = 120;
const HEIGHT = 28;

interface Props {
  hours: readonly HourOfDeliveries[];
  /** From when on they count every delivery. */
  countedSince: string;
}

export const HourBars = memo(function HourBars({ hours, countedSince }: Props) {
  const paths = useMemo(() => barPaths(hours, WIDTH, HEIGHT), [hours]);
  const words = dayInWords(hours, countedPeriod(hours, countedSince));
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={words}
      data-hint={words}
    >
      <path className={css.base} d={`M0 ${paths.baseY + 0.5}H${WIDTH}`} />
      <path className={css.succeeded} d={paths.succeeded} />
      <path className={css.waiting} d={paths.waiting} />
      <path className={css.failed} d={paths.failed} />
    </svg>
  );
});

/** Those whose latest attempt failed. */
const failedIn = (hour: HourOfDeliveries) => hour.failing + hour.parkedFailing + hour.exhausted;
const heldIn = (hour: HourOfDeliveries) => hour.parked - hour.parkedFailing;

/**
 * "312 deliveries in the last 24 hours: 288 succeeded, 12 succeeded after a retry, 2 waiting, 9 failing so far, 1 given up". Deliveries are
 * counted and not attempts, so the words say which successes had failed before, and that a failure may still succeed.
 */
export function dayInWords(hours: readonly HourOfDeliveries[], period = "in the last 24 hours"): string {
  const sumOf = (count: (hour: HourOfDeliveries) => number) => hours.reduce((sum, hour) => sum + count(hour), 0);
  const said = (outcome: Outcome) => outcomeWords[outcome].toLowerCase();
  const sums = {
    [said("succeeded")]: sumOf((hour) => hour.succeeded - hour.retriedSucceeded),
    [`${said("succeeded")} after a retry`]: sumOf((hour) => hour.retriedSucceeded),
    [said("waiting")]: sumOf((hour) => hour.waiting),
    [`${said("failing")} so far`]: sumOf((hour) => hour.failing),
    [said("parked")]: sumOf(heldIn),
    [`${said("parked")} after a failure`]: sumOf((hour) => hour.parkedFailing),
    [said("exhausted")]: sumOf((hour) => hour.exhausted),
  };
  return tally(sums, "delivery", "deliveries", period);
}

/** The time that the sums cover: on busy days only the newest deliveries are counted. */
export function countedPeriod(hours: readonly HourOfDeliveries[], countedSinceUtc: string): string {
  const isWhole = Date.parse(countedSinceUtc) <= Date.parse(hours[0]?.startUtc ?? countedSinceUtc);
  return isWhole ? "in the last 24 hours" : `since ${formats.dateTime(countedSinceUtc)}, the newest of the day`;
}

/**
 * The little picture of a day as SVG paths, one bar an hour. Heights follow the square root, so that one failure beside a
 * thousand successes can still be seen. Bars on the base line succeeded; on top of them are those without an attempt so far. What failed hangs below
 * the line, also while its webhook is disabled: the position differs as well as the colour.
 */
export function barPaths(hours: readonly HourOfDeliveries[], width: number, height: number) {
  const up = hours.map((hour) => Math.sqrt(hour.succeeded + hour.waiting + heldIn(hour)));
  const down = hours.map((hour) => Math.sqrt(failedIn(hour)));
  const most = Math.max(1, ...up) + Math.max(0, ...down);
  const scale = (height - 1) / most;
  const baseY = round(Math.max(1, ...up) * scale);
  const step = width / Math.max(1, hours.length);
  const bar = (index: number, top: number, length: number): string =>
    length > 0 ? `M${round(index * step)} ${round(top)}h${round(step - 1)}v${round(length)}h${round(1 - step)}z` : "";
  const paths = { succeeded: "", waiting: "", failed: "", baseY };
  hours.forEach((hour, index) => {
    const total = (up[index] ?? 0) * scale;
    const waits = hour.waiting + heldIn(hour);
    const waiting = waits > 0 ? total * (waits / (hour.succeeded + waits)) : 0;
    paths.succeeded += bar(index, baseY - (total - waiting), total - waiting);
    paths.waiting += bar(index, baseY - total, waiting);
    paths.failed += bar(index, baseY + 1, (down[index] ?? 0) * scale);
  });
  return paths;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
