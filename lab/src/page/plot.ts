import { LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, LegendComponent, MarkLineComponent, TitleComponent } from "echarts/components";
import { type EChartsCoreOption, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([LineChart, ScatterChart, GridComponent, LegendComponent, MarkLineComponent, TitleComponent, SVGRenderer]);

/** Colours for one background of whoever shows the page. */
export interface Palette {
  readonly ink: string;
  readonly muted: string;
  readonly grid: string;
  /** For series, in their order: each is told from its neighbours by people who see no red or no green, too. */
  readonly series: readonly string[];
  readonly before: string;
  readonly bar: string;
}

export const PALETTES = {
  light: {
    ink: "#1f2328",
    muted: "#59636e",
    grid: "#d1d9e0",
    series: ["#0b66c2", "#b35900", "#1a7f5a", "#8250df", "#a8326b", "#6b7280"],
    before: "#8c959f",
    bar: "#cf222e",
  },
  dark: {
    ink: "#f0f6fc",
    muted: "#9198a1",
    grid: "#3d444d",
    series: ["#58a6ff", "#f0a04b", "#4ac38f", "#b392f0", "#f47ab0", "#9da7b3"],
    before: "#8b949e",
    bar: "#ff7b72",
  },
} as const satisfies Record<string, Palette>;

const WIDTH = 860;
const FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";

/** Draws a chart as an SVG, the same text for the same options; its background is the page's. */
export function drawSvg(options: EChartsCoreOption, { palette, height }: { palette: Palette; height: number }): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height });
  chart.setOption({
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: FONT, color: palette.ink },
    ...options,
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // The library numbers its charts and their classes as they are made, and a document must not depend on how many were made
  // before it. Its classes are for a mouse that hovers.
  const plain = svg.replaceAll(/zr\d+-/g, "zr-").replaceAll(/ class="[^"]*"|<style >.*?<\/style>\n?/gs, "");
  return `${plain}\n`;
}

/** The look of an axis. */
export function axis(palette: Palette, name: string) {
  return {
    name,
    nameLocation: "middle" as const,
    nameTextStyle: { color: palette.muted, fontSize: 13 },
    axisLabel: { color: palette.ink, fontSize: 13 },
    axisLine: { lineStyle: { color: palette.muted } },
    axisTick: { lineStyle: { color: palette.muted } },
    splitLine: { lineStyle: { color: palette.grid } },
    minorSplitLine: { show: false },
  };
}

export function titleOf(palette: Palette, text: string) {
  return { text, left: 8, top: 6, textStyle: { color: palette.ink, fontSize: 16, fontWeight: 600 } };
}

export function legendOf(palette: Palette, data: readonly string[]) {
  return { data: [...data], left: 8, top: 34, itemGap: 18, textStyle: { color: palette.ink, fontSize: 13 } };
}
