import { classNames } from "../../common/class-names.ts";
import { formats } from "../../common/formats.ts";
import shared from "../../common/shared.module.css";
import css from "./deliveries.module.css";
import { attemptsInWords, type Bar, beginning, gridOf, type Unit, zonesOf } from "./words.ts";

/** On a phone, half of them. */
const LABELS = 6;

interface Props {
  points: readonly Bar[];
  unit: Unit;
  words: string;
}

/** Attempts, hour by hour or day by day: those that succeeded stand above the line, those that failed hang below it. */
export function AttemptChart({ points, unit, words }: Props) {
  const { top, bottom, lines } = gridOf(points);
  const part = (attempts: number) => `${(100 * attempts) / (top + bottom)}%`;
  const zones = zonesOf(points);
  const every = Math.ceil(points.length / LABELS);
  return (
    <figure>
      <figcaption className={classNames(shared.bar, shared.softSmall, css.caption)}>
        <span>{words}</span>
        <span className={shared.faint}>
          by {unit}, {zones.join(" and ")}
        </span>
      </figcaption>
      <div className={classNames(shared.faint, css.plot)} aria-hidden="true">
        {lines.map((attempts) => (
          <span key={attempts} className={css.gridLine} style={{ top: part(top - attempts) }}>
            <span>{formats.number(Math.abs(attempts))}</span>
          </span>
        ))}
        {points.map((point, index) => (
          <span
            key={point.startMs}
            className={css.bar}
            data-hint={attemptsInWords(point, `from ${beginning(point, unit, zones.length > 1)}`)}
          >
            <i className={css.succeeded} style={{ bottom: part(bottom), height: part(point.succeeded) }} />
            <i className={css.failed} style={{ top: part(top), height: part(point.failed) }} />
            {index % every === 0 ? (
              <span className={classNames(css.barLabel, (index / every) % 2 === 1 && shared.medium)}>
                {formats[unit](point.startMs)}
              </span>
            ) : null}
          </span>
        ))}
      </div>
    </figure>
  );
}
