import { LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, MarkLineComponent, TitleComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { StoredResults } from "../results.ts";
import { allMeasured, type Measured } from "./tables.ts";

use([LineChart, GridComponent, LegendComponent, MarkLineComponent, TitleComponent, SVGRenderer]);

/** Colours for one background of whoever shows the page. */
interface Palette {
  readonly ink: string;
  readonly muted: string;
  readonly grid: string;
  /** For series, in their order: each is told from its neighbours by people who see no red or no green, too. */
  readonly series: readonly string[];
  readonly bar: string;
}

export const PALETTES = {
  light: {
    ink: "#1f2328",
    muted: "#59636e",
    grid: "#d1d9e0",
    series: ["#0b66c2", "#b35900", "#1a7f5a", "#8250df", "#a8326b", "#6b7280"],
    bar: "#cf222e",
  },
  dark: {
    ink: "#f0f6fc",
    muted: "#9198a1",
    grid: "#3d444d",
    series: ["#58a6ff", "#f0a04b", "#4ac38f", "#b392f0", "#f47ab0", "#9da7b3"],
    bar: "#ff7b72",
  },
} as const satisfies Record<string, Palette>;

const SIZE = { width: 860, height: 380 };
const FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";

interface Line {
  name: string;
  color: string | undefined;
  isBefore?: boolean;
  /** Values over what the axis calls them. */
  data: [string, number][];
}

interface Plot {
  title: string;
  lines: readonly Line[];
  /** What was measured is spread evenly, with nothing between. */
  x: { name: string; data: readonly string[] };
  y: { name: string; min: number; max?: number };
  bar?: number;
}

const RATE = /^p(50|95)At(\d+)$/;

/** Latency over the rate of events, of half and of 95 % of them, and the same before. */
export function latencyPlot(results: StoredResults, palette: Palette): string {
  const rateOf = ({ name }: Measured) => RATE.exec(name)?.[2] ?? "";
  const measured = allMeasured(results)
    .filter(({ row, name }) => row.name === "latency" && RATE.test(name))
    .sort((one, other) => Number(rateOf(one)) - Number(rateOf(other)));
  const lines = ["50", "95"].flatMap((share, index): Line[] => {
    const own = measured.filter(({ name }) => RATE.exec(name)?.[1] === share);
    const name = share === "50" ? "half within" : "95 % within";
    const color = palette.series[index];
    return [
      { name, color, data: own.map((each) => [rateOf(each), each.median]) },
      {
        name: `${name}, before`,
        color,
        isBefore: true,
        data: own.flatMap((each): [string, number][] => (each.before ? [[rateOf(each), each.before.median]] : [])),
      },
    ];
  });
  const x = { name: "events a second", data: [...new Set(measured.map(rateOf))] };
  return drawSvg({ title: "From the emitter to the receiver", lines, x, y: { name: "ms", min: 0 } }, palette);
}

/** Steps of the growth row. A heartbeat is none: it touches no history. */
const STEPS: Readonly<Record<string, string>> = {
  storeRatio: "store events",
  sweepRatio: "a sweep",
  readRatio: "read deliveries",
  settleRatio: "settle",
  catchUpRatio: "a catch-up's page",
  listRatio: "GET /webhooks",
};

/** Each hot statement with a long history, as a multiple of the same with a short one, over the history's size. */
export function historyPlot(results: StoredResults, palette: Palette): string {
  const ratios = allMeasured(results)
    .filter(({ row, name }) => row.name === "growth" && name in STEPS)
    .sort((one, other) => (one.row.growth ?? 0) - (other.row.growth ?? 0));
  const sizeOf = ({ row }: Measured) => (row.growth ?? 0).toLocaleString("en");
  const measured = Object.entries(STEPS).filter(([step]) => ratios.some(({ name }) => name === step));
  const lines = measured.map(([step, name], index): Line => {
    const own = ratios.filter((each) => each.name === step);
    return { name, color: palette.series[index], data: own.map((each) => [sizeOf(each), each.median]) };
  });
  const highest = Math.max(1.4, ...ratios.map(({ median }) => median));
  const bar = ratios[0]?.bar;
  return drawSvg(
    {
      title: "The same statement with a long history, to a short one",
      lines,
      x: { name: "finished deliveries stored", data: [...new Set(ratios.map(sizeOf))] },
      y: { name: "times", min: 0.6, max: Math.ceil(highest * 5) / 5 },
      ...(bar && "atMost" in bar && { bar: bar.atMost }),
    },
    palette,
  );
}

/** Draws lines as an SVG, the same text for the same plot; its background is the page's. */
function drawSvg({ title, lines, x, y, bar }: Plot, palette: Palette): string {
  const shown = lines.filter(({ data }) => data.length > 0);
  const chart = init(null, null, { renderer: "svg", ssr: true, ...SIZE });
  const axis = {
    nameLocation: "middle" as const,
    nameTextStyle: { color: palette.muted, fontSize: 13 },
    axisLabel: { color: palette.ink, fontSize: 13 },
    axisLine: { lineStyle: { color: palette.muted } },
    axisTick: { lineStyle: { color: palette.muted } },
    splitLine: { lineStyle: { color: palette.grid } },
  };
  const markLine = {
    silent: true,
    symbol: "none",
    label: { formatter: "bar", color: palette.bar },
    lineStyle: { color: palette.bar, type: "dotted" as const, width: 1.5 },
    data: [{ yAxis: bar }],
  };
  chart.setOption({
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: FONT, color: palette.ink },
    title: { text: title, left: 8, top: 6, textStyle: { color: palette.ink, fontSize: 16, fontWeight: 600 } },
    legend: {
      data: shown.map(({ name }) => name),
      ...{ left: 8, top: 34, itemGap: 18, textStyle: { color: palette.ink, fontSize: 13 } },
    },
    grid: { left: 64, right: 44, top: 76, bottom: 56 },
    xAxis: { type: "category", boundaryGap: false, ...axis, ...x, nameGap: 32 },
    yAxis: { type: "value", ...axis, ...y, nameGap: 44 },
    series: shown.map(({ isBefore, ...line }, index) => ({
      type: "line",
      symbol: isBefore ? "diamond" : "circle",
      symbolSize: 8,
      lineStyle: isBefore ? { width: 1.5, type: "dashed" } : { width: 2.5 },
      ...line,
      ...(index === 0 && bar !== undefined && { markLine }),
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // The library numbers its charts and their classes as they are made, and a document must not depend on how many were made
  // before it. Its classes are for a mouse that hovers.
  return `${svg.replaceAll(/zr\d+-/g, "zr-").replaceAll(/ class="[^"]*"|<style >.*?<\/style>\n?/gs, "")}\n`;
}
