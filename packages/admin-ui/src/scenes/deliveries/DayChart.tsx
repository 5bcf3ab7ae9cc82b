import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { HourOfDeliveries } from "@herald/contracts";
import { countedPeriod, dayInWords, sumHours } from "../../common/display/hours.ts";
import { formats } from "../../common/formats.ts";
import css from "./deliveries.module.css";

const HEIGHT_PX = 116;

interface Props {
  hours: readonly HourOfDeliveries[];
  /** From when on they count every delivery. */
  countedSince: string;
}

/** The last 24 hours, hour by hour: what was delivered stands above the line, what failed hangs below it. */
export default function DayChart({ hours, countedSince }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const [pointedAt, setPointedAt] = useState<number | null>(null);
  const data = useMemo(() => series(hours), [hours]);
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const draw = (): void => {
      chart.current?.destroy();
      chart.current = new uPlot(options(element, setPointedAt), latest.current, element);
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
  }, []);

  useEffect(() => {
    chart.current?.setData(data);
  }, [data]);

  const hour = pointedAt === null ? undefined : hours[pointedAt];
  return (
    <figure className={css.chart}>
      <figcaption className={css.caption}>
        <span>{hour ? hourInWords(hour) : dayInWords(sumHours(hours), countedPeriod(hours, countedSince))}</span>
        <span className={css.unit}>by hour</span>
      </figcaption>
      <div ref={place} className={css.place} aria-hidden="true" />
    </figure>
  );
}

function hourInWords(hour: HourOfDeliveries): string {
  return dayInWords(sumHours([hour]), `from ${formats.hour(Date.parse(hour.startUtc))}`);
}

/** x in seconds; what failed is negative. Those without an attempt stand on top of those that succeeded. */
function series(hours: readonly HourOfDeliveries[]): uPlot.AlignedData {
  return [
    hours.map(({ startUtc }) => Date.parse(startUtc) / 1000),
    hours.map(({ succeeded, waiting }) => succeeded + waiting),
    hours.map(({ succeeded }) => succeeded),
    hours.map(({ failing, exhausted }) => -(failing + exhausted)),
  ];
}

function options(element: HTMLElement, onPoint: (index: number | null) => void): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (token: string): string => resolveColour(element, token);
  const bars = uPlot.paths.bars?.({ size: [0.72, 22], radius: 0.15 });
  const axis = { stroke: colour("--ink-faint"), font: `11px ${style.fontFamily}`, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    // On the right, half of the last hour's label.
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: true, range: (_chart, min, max) => [min - 1_800, max + 1_800] } },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 4,
        space: 70,
        grid: { show: false },
        values: (_chart, ticks) => ticks.map((seconds) => formats.hour(seconds * 1000)),
      },
      {
        ...axis,
        size: 40,
        gap: 4,
        space: 26,
        grid: { stroke: colour("--line"), width: 1 },
        values: (_chart, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? formats.number(Math.abs(tick)) : "")),
      },
    ],
    series: [
      {},
      { fill: colour("--track"), width: 0, ...(bars ? { paths: bars } : {}), points: { show: false } },
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
