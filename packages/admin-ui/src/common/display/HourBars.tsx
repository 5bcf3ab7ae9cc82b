import type { HourOfDeliveries } from "@herald/contracts";
import { memo, useMemo } from "react";
import css from "./display.module.css";
import { barPaths, countedPeriod, dayInWords, sumHours } from "./hours.ts";

const WIDTH = 120;
const HEIGHT = 28;

interface Props {
  hours: readonly HourOfDeliveries[];
  /** From when on they count every delivery. */
  countedSince: string;
}

/** The last 24 hours of a webhook as a small picture. */
export const HourBars = memo(function HourBars({ hours, countedSince }: Props) {
  const paths = useMemo(() => barPaths(hours, WIDTH, HEIGHT), [hours]);
  const words = dayInWords(sumHours(hours), countedPeriod(hours, countedSince));
  return (
    <span className={css.picture} data-hint={words}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={words}>
        <path className={css.base} d={`M0 ${paths.baseY + 0.5}H${WIDTH}`} />
        <path className={css.succeeded} d={paths.succeeded} />
        <path className={css.waiting} d={paths.waiting} />
        <path className={css.failed} d={paths.failed} />
      </svg>
    </span>
  );
});
