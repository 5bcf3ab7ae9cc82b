import type { EndpointRates } from "@herald/contracts";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { ratesQuery } from "../../api/queries.ts";
import { classNames } from "../../common/class-names.ts";
import { NotLoaded } from "../../common/feedback/LoadError.tsx";
import { Choices } from "../../common/form/Field.tsx";
import { formats } from "../../common/formats.ts";
import { Facts, Panel } from "../../common/page/Page.tsx";
import shared from "../../common/shared.module.css";
import css from "./deliveries.module.css";
import {
  about,
  attemptsInWords,
  type Bar,
  beginning,
  firstShown,
  gridOf,
  successRate,
  type Unit,
  zonesOf,
} from "./words.ts";

const HOUR_MS = 3_600_000;
const PERIODS = [1, 7, 30].map((days) => ({ value: `${days}`, words: days === 1 ? "1 day" : `${days} days` }));

export function Rates({ id }: { id: string }) {
  const { data, error } = useQuery(ratesQuery(id));
  const [days, setDays] = useState("1");
  return (
    <Panel
      title="Success rate and response time"
      aside={<Choices name="Period" value={days} options={PERIODS} onChange={setDays} />}
      padded
    >
      {data ? <Period rates={data} many={Number(days)} /> : <NotLoaded error={error} what="the rates" />}
    </Panel>
  );
}

function Period({ rates: { endUtc, periods, hours, days }, many }: { rates: EndpointRates; many: number }) {
  const unit = many === 1 ? "hour" : "day";
  const points = useMemo(() => {
    const counts = many === 1 ? hours : days.slice(-many);
    const startOf = (index: number) =>
      Date.parse(endUtc) - (counts.length - index) * (many === 1 ? HOUR_MS : 24 * HOUR_MS);
    const bars = counts.map((each, index): Bar => ({ ...each, startMs: startOf(index) }));
    return bars.slice(firstShown(bars));
  }, [many, endUtc, hours, days]);
  const { attempts = 0, succeeded = 0, p50Ms, p95Ms } = periods.find((each) => each.days === many) ?? {};
  const sums = { succeeded, failed: attempts - succeeded };
  const words = attemptsInWords(sums, many === 1 ? "in the last 24 hours" : `in the last ${many} days`);
  if (attempts === 0) return <p className={shared.softSmall}>{words} so far. Attempts are counted once a minute.</p>;
  return (
    <div className={css.rates}>
      <div className={css.figures}>
        <Facts
          facts={{
            "Success rate": successRate(sums),
            "Half took under": `${about(p50Ms ?? 0)} (p50)`,
            "95 % took under": `${about(p95Ms ?? 0)} (p95)`,
          }}
        />
      </div>
      <div className={css.chart}>
        <AttemptChart points={points} unit={unit} words={words} />
      </div>
      <Numbers points={points} unit={unit} />
    </div>
  );
}

/** On a phone, half of them. */
const LABELS = 6;

/** Attempts, hour by hour or day by day: those that succeeded stand above the line, those that failed hang below it. */
function AttemptChart({ points, unit, words }: { points: readonly Bar[]; unit: Unit; words: string }) {
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

function Numbers({ points, unit }: { points: readonly Bar[]; unit: Unit }) {
  const zones = zonesOf(points);
  return (
    <details>
      <summary className={classNames(shared.softSmall, css.summary)}>Show the chart as a table</summary>
      <table className={classNames(shared.note, css.counts)}>
        <thead>
          <tr>
            <th scope="col">
              {unit === "hour" ? "Hour from" : "24 hours from"} ({zones.join(" and ")})
            </th>
            <th scope="col">Succeeded</th>
            <th scope="col">Failed</th>
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={point.startMs}>
              <th scope="row">{beginning(point, unit, zones.length > 1)}</th>
              <td>{formats.number(point.succeeded)}</td>
              <td>{formats.number(point.failed)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
