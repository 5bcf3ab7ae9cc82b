import type { AttemptsSince, EndpointRates } from "@herald/contracts";
import { lazy, Suspense, useMemo, useState } from "react";
import { Facts } from "../../common/display/Facts.tsx";
import { Choices } from "../../common/form/Choices.tsx";
import { formats } from "../../common/formats.ts";
import { Panel } from "../../common/page/Panel.tsx";
import { about, attemptsInWords, beginning, successRate, type Unit } from "./attempt-words.ts";
import css from "./deliveries.module.css";

const AttemptChart = lazy(() => import("./AttemptChart.tsx"));

/** How a webhook's attempts fared over 1, 7 or 30 days, and how long they took. */
export function Rates({ rates: { periods, hours, days } }: { rates: EndpointRates }) {
  const [chosen, setChosen] = useState("1");
  const many = Number(chosen);
  const unit = many === 1 ? "hour" : "day";
  const points = useMemo(() => (many === 1 ? hours : days.slice(-many)), [many, hours, days]);
  const { attempts = 0, succeeded = 0, p50Ms, p95Ms } = periods.find((each) => each.days === many) ?? {};
  const sums = { succeeded, failed: attempts - succeeded };
  const words = attemptsInWords(sums, many === 1 ? "in the last 24 hours" : `in the last ${many} days`);
  return (
    <Panel
      title="Success rate and response time"
      aside={
        <Choices
          name="Period"
          value={chosen}
          options={periods.map((period) => ({
            value: `${period.days}`,
            words: period.days === 1 ? "1 day" : `${period.days} days`,
          }))}
          onChange={setChosen}
        />
      }
      padded
    >
      {attempts === 0 ? (
        <p className={css.chartSpace}>{words} so far. Attempts are counted once a minute.</p>
      ) : (
        <div className={css.rates}>
          <div className={css.figures}>
            <Facts
              facts={[
                ["Success rate", successRate(sums)],
                ["Half took at most", `${about(p50Ms ?? 0)} (p50)`],
                ["95 % took at most", `${about(p95Ms ?? 0)} (p95)`],
              ]}
            />
          </div>
          <div className={css.chart}>
            <Suspense fallback={<div className={css.chartSpace} />}>
              <AttemptChart points={points} unit={unit} words={words} />
            </Suspense>
          </div>
          <Numbers points={points} unit={unit} />
        </div>
      )}
    </Panel>
  );
}

/** The same as the chart, for whoever does not see it or point at it. */
function Numbers({ points, unit }: { points: readonly AttemptsSince[]; unit: Unit }) {
  return (
    <details>
      <summary className={css.summary}>Show the chart as a table</summary>
      <table className={css.numbers}>
        <thead>
          <tr>
            <th scope="col">{unit === "hour" ? "Hour from" : "24 hours from"}</th>
            <th scope="col">Succeeded</th>
            <th scope="col">Failed</th>
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={point.startUtc}>
              <th scope="row">{beginning(point, unit)}</th>
              <td>{formats.number(point.succeeded)}</td>
              <td>{formats.number(point.failed)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
