import type { StoredResults } from "../results.ts";
import { allMeasured, amount, type Measured, measuredOf } from "./measured.ts";
import { axis, drawSvg, legendOf, type Palette, titleOf } from "./plot.ts";
import type { Shown } from "./tables.ts";

const RATE = /^p(50|95)At(\d+)$/;

/** Latency over the rate of events, of half and of 95 % of them, and the same before. */
export function latencyPlot(results: StoredResults, palette: Palette): string {
  const measured = allMeasured(results).filter(({ row, name }) => row.name === "rates" && RATE.test(name));
  const rateOf = ({ name }: Measured) => RATE.exec(name)?.[2] ?? "";
  const lines = ["50", "95"].flatMap((share, index) => {
    const own = measured.filter(({ name }) => RATE.exec(name)?.[1] === share);
    const name = share === "50" ? "half within" : "95 % within";
    const color = palette.series[index];
    const before = own.flatMap((each) => (each.before ? [[rateOf(each), each.before.median]] : []));
    return [
      { ...LINE, name, color, data: own.map((each) => [rateOf(each), each.median]), lineStyle: { width: 2.5 } },
      { ...LINE, ...BEFORE, name: `${name}, before`, color, data: before },
    ].filter(({ data }) => data.length > 0);
  });
  return drawSvg(
    {
      title: titleOf(palette, "From the emitter to the receiver"),
      legend: legendOf(palette, names(lines)),
      grid: { left: 64, right: 28, top: 76, bottom: 56 },
      xAxis: { ...categories(palette, "events a second"), data: [...new Set(measured.map(rateOf))] },
      yAxis: { type: "value", min: 0, ...axis(palette, "ms"), nameGap: 44 },
      series: lines,
    },
    { palette, height: 380 },
  );
}

const LINE = { type: "line" as const, symbol: "circle", symbolSize: 8 };
const BEFORE = { symbol: "diamond", lineStyle: { width: 1.5, type: "dashed" as const } };

/** What was measured is spread evenly, with nothing between. */
function categories(palette: Palette, name: string) {
  return { type: "category" as const, boundaryGap: false, ...axis(palette, name), nameGap: 32 };
}

const names = (series: readonly { name: string }[]) => series.map(({ name }) => name);

/** Each hot statement with a long history, as a multiple of the same with a short one, over the history's size. */
export function historyPlot(results: StoredResults, palette: Palette): string {
  const ratios = allMeasured(results)
    .filter(({ row, name }) => row.name === "growth" && name.endsWith("Ratio") && !name.endsWith("HeldRatio"))
    .sort((one, other) => (one.row.growth ?? 0) - (other.row.growth ?? 0));
  const steps = [...new Set(ratios.map(({ name }) => name))];
  const sizeOf = ({ row }: Measured) => (row.growth ?? 0).toLocaleString("en");
  const lines = steps.map((step, index) => ({
    ...LINE,
    name: STEPS[step] ?? step,
    color: palette.series[index],
    data: ratios.filter(({ name }) => name === step).map((each) => [sizeOf(each), each.median]),
    lineStyle: { width: 2 },
    ...(index === 0 && { markLine: barLine(palette, ratios[0]) }),
  }));
  const highest = Math.max(1.4, ...ratios.map(({ median }) => median));
  return drawSvg(
    {
      title: titleOf(palette, "The same statement with a long history, to a short one"),
      legend: legendOf(palette, names(lines)),
      grid: { left: 64, right: 44, top: 76, bottom: 56 },
      xAxis: { ...categories(palette, "finished deliveries stored"), data: [...new Set(ratios.map(sizeOf))] },
      yAxis: { type: "value", min: 0.6, max: Math.ceil(highest * 5) / 5, ...axis(palette, "times"), nameGap: 44 },
      series: lines,
    },
    { palette, height: 380 },
  );
}

const STEPS: Readonly<Record<string, string>> = {
  storeRatio: "store events",
  claimRatio: "claim",
  settleRatio: "settle",
  dueRatio: "look for due",
  catchUpRatio: "a catch-up's page",
  listRatio: "GET /webhooks",
};

function barLine(palette: Palette, figure: Measured | undefined) {
  const bar = figure?.bar && "atMost" in figure.bar ? figure.bar.atMost : undefined;
  return {
    silent: true,
    symbol: "none",
    label: { formatter: "bar", color: palette.bar },
    lineStyle: { color: palette.bar, type: "dotted" as const, width: 1.5 },
    data: bar === undefined ? [] : [{ yAxis: bar }],
  };
}

/** Who is twice as quick as alone was measured in a noisy minute. */
const LEAST = 0.5;

/** How much worse off others are beside each disturbance: now, before, and at the most. To the right is worse. */
export function fairnessPlot(results: StoredResults, shown: readonly Shown[], palette: Palette): string {
  const rows = shown.flatMap(([row, figure, words]) => {
    const measured = measuredOf(results, row, figure);
    return measured?.unit === "x" && measured.bar ? [{ measured, words }] : [];
  });
  /** Of a rate that should stay, its inverse: as much slower. */
  const worse = ({ bar }: Measured, ratio: number) => (bar && "atLeast" in bar ? 1 / ratio : ratio);
  const points = (value: (measured: Measured) => number | undefined) =>
    rows.flatMap(({ measured, words }) => {
      const ratio = value(measured);
      return ratio === undefined ? [] : [[Math.max(LEAST, worse(measured, ratio)), words]];
    });
  const before = points((measured) => measured.before?.median);
  const now = points((measured) => measured.median);
  const bars = points(({ bar }) => bar && ("atLeast" in bar ? bar.atLeast : bar.atMost));
  const series = [
    { name: "before", symbol: "circle", symbolSize: 11, data: before, color: palette.before },
    { name: "now", symbol: "circle", symbolSize: 13, data: now, color: palette.series[0] },
    { name: "at the most", symbol: "rect", symbolSize: [3, 22], data: bars, color: palette.bar },
  ].filter(({ data }) => data.length > 0);
  const highest = Math.max(...[...before, ...now, ...bars].map(([value]) => Number(value)), 2);
  return drawSvg(
    {
      title: titleOf(palette, "What others notice: how many times slower they are than alone"),
      legend: legendOf(palette, names(series)),
      grid: { left: 390, right: 40, top: 76, bottom: 52 },
      xAxis: {
        type: "log",
        logBase: 2,
        min: LEAST,
        max: 2 ** Math.ceil(Math.log2(highest)),
        ...axis(palette, "times"),
        nameGap: 30,
        axisLabel: { color: palette.ink, fontSize: 13, formatter: (value: number) => amount(value, "x") },
      },
      yAxis: {
        type: "category",
        inverse: true,
        data: rows.map(({ words }) => words),
        ...axis(palette, ""),
        axisTick: { show: false },
        splitLine: { show: true, lineStyle: { color: palette.grid } },
        axisLabel: { color: palette.ink, fontSize: 13, width: 372, overflow: "break" as const },
      },
      series: series.map((each) => ({
        type: "scatter" as const,
        ...each,
        itemStyle: { color: each.color, opacity: 1 },
      })),
    },
    { palette, height: 132 + rows.length * 34 },
  );
}
