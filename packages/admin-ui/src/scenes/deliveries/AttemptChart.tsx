import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import { classNames } from "../../common/class-names.ts";
import shared from "../../common/shared.module.css";
import "uplot/dist/uPlot.min.css";
import { formats } from "../../common/formats.ts";
import css from "./deliveries.module.css";
import { attemptsInWords, type Bar, beginning, type Unit, zonesOf } from "./words.ts";

const HEIGHT_PX = 116;

const DAY_S = 86_400;
/** Steps of the grid: attempts are whole, and each line has its number. */
const WHOLE = Array.from({ length: 8 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

interface Props {
  points: readonly Bar[];
  unit: Unit;
  words: string;
}

/** Attempts, hour by hour or day by day: those that succeeded stand above the line, those that failed hang below it. */
export default function AttemptChart({ points, unit, words }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const [pointedAt, setPointedAt] = useState<number | null>(null);
  const data = useMemo(() => series(points, unit), [points, unit]);
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const draw = (): void => {
      chart.current?.destroy();
      chart.current = new uPlot(options(element, unit, setPointedAt), latest.current, element);
    };
    draw();
    const resized = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    resized.observe(element);
    // The colours are read when it is drawn, so another theme means another drawing.
    const themed = new MutationObserver(draw);
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      themed.disconnect();
      system.removeEventListener("change", draw);
      chart.current?.destroy();
      chart.current = null;
    };
  }, [unit]);

  useEffect(() => {
    chart.current?.setData(data);
  }, [data]);

  const point = pointedAt === null ? undefined : points[pointedAt];
  return (
    <figure>
      <figcaption className={classNames(shared.bar, shared.softSmall, css.caption)}>
        <span>
          {point ? attemptsInWords(point, `from ${beginning(point, unit, zonesOf(points).length > 1)}`) : words}
        </span>
        <span className={shared.faint}>
          by {unit}, {zonesOf(points).join(" and ")}
        </span>
      </figcaption>
      <div ref={place} className={css.plot} aria-hidden="true" />
    </figure>
  );
}

/** x in seconds, in the middle of a day, and at an hour's beginning, below which its label stands. Failures are negative. */
function series(points: readonly Bar[], unit: Unit): uPlot.AlignedData {
  return [
    points.map(({ startMs }) => startMs / 1000 + (unit === "day" ? DAY_S / 2 : 0)),
    points.map(({ succeeded }) => succeeded),
    points.map(({ failed }) => -failed),
  ];
}

function options(element: HTMLElement, unit: Unit, onPoint: (index: number | null) => void): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (token: string): string => resolveColour(element, token);
  const bars = uPlot.paths.bars?.({ size: [0.72, unit === "day" ? 44 : 22], radius: 0.15 });
  const half = unit === "day" ? DAY_S / 2 : 1_800;
  const axis = { stroke: colour("--ink-faint"), font: `11px ${style.fontFamily}`, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    // On the right, half of the last hour's label.
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: true, range: (_chart, min, max) => [min - half, max + half] } },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 4,
        space: 70,
        grid: { show: false },
        ...(unit === "day" && { incrs: [1, 2, 3, 5, 10, 15].map((days) => days * DAY_S) }),
        values: (_chart, ticks) => ticks.map((seconds) => formats[unit](seconds * 1000)),
      },
      {
        ...axis,
        size: 40,
        gap: 4,
        space: 26,
        grid: { stroke: colour("--line"), width: 1 },
        incrs: WHOLE,
        values: (_chart, ticks) => ticks.map((tick) => formats.number(Math.abs(tick))),
      },
    ],
    series: [
      {},
      { fill: colour("--vert-fill"), width: 0, ...(bars ? { paths: bars } : {}), points: { show: false } },
      { fill: colour("--gules-fill"), width: 0, ...(bars ? { paths: bars } : {}), points: { show: false } },
    ],
    hooks: { setCursor: [(chart) => onPoint(chart.cursor.idx ?? null)] },
  };
}

/** A canvas knows no custom properties nor light-dark(): the browser has to work the colour out first. */
function resolveColour(element: HTMLElement, token: string): string {
  const before = element.style.color;
  element.style.color = `var(${token})`;
  const resolved = getComputedStyle(element).color;
  element.style.color = before;
  return resolved;
}
