import { median } from "@herald/e2e/statistics";
import type { BenchEnvironment } from "./environment.ts";
import { BENCH_LOAD, type BenchOptions, EXACTLY_ONCE, type FigureKind, type OpenRow, type Row } from "./row.ts";

export interface Figure extends FigureKind {
  median: number;
  lowest: number;
  highest: number;
  /** Whether the median is within the bar; absent if there is none. */
  met?: boolean;
}

export type RowResult = Awaited<ReturnType<typeof runRow>>;

/**
 * Measures a row in several rounds, on services that run through. With a baseline, it is measured with the
 * other code too, by turns, so that whatever else the machine does hits both. An earlier commit may lack what a row asks for, a
 * table or a metric: then the row has its own figures alone, and it is said why.
 */
export async function runRow(
  row: Row,
  environment: BenchEnvironment,
  { rounds, baseline, ...options }: BenchOptions & { rounds: number; baseline?: BenchEnvironment | undefined },
) {
  const open = await row.open(environment, options);
  const measured: Record<string, number>[] = [];
  let beside: OpenRow | undefined;
  const ofBaseline = async <T>(task: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await task();
    } catch (error) {
      options.progress(`The baseline can't be measured: ${(error as Error).message}`);
      await beside?.close();
      beside = undefined;
      return undefined;
    }
  };
  let isCompared = false;
  try {
    if (baseline) beside = await ofBaseline(() => row.open(baseline, options));
    for (let round = 1; round <= rounds; round++) {
      options.progress(`${row.title}: round ${round} of ${rounds}`);
      const own = await open.round();
      const other = await ofBaseline(async () => await beside?.round());
      measured.push({ ...own, ...(other && besides(own, other)) });
    }
    isCompared = beside !== undefined;
  } finally {
    await beside?.close();
    await open.close();
  }
  const valuesOf = (name: string) => measured.map((round) => round[name] ?? Number.NaN);
  const figures = kindsOf(row, isCompared).map(([name, kind]) => figureOf(kind, valuesOf(name)));
  return { title: row.title, conditions: open.conditions, figures };
}

/** A row's figures, with a baseline each with the baseline's behind it, and with their ratio if that has a bar. */
function kindsOf(row: Row, isCompared: boolean): [string, FigureKind][] {
  return Object.entries(row.figures).flatMap(([name, kind]): [string, FigureKind][] => {
    if (!isCompared || name in BENCH_LOAD || name in EXACTLY_ONCE) return [[name, kind]];
    const beside: [string, FigureKind] = [otherName(name), { label: "  the baseline's", unit: kind.unit }];
    const bar = row.ratios?.[name];
    if (!bar) return [[name, kind], beside];
    return [[name, kind], beside, [ratioName(name), { label: "  to the baseline's", unit: "x", bar }]];
  });
}

/** The name of the baseline's figure. */
const otherName = (name: string) => `${name}Baseline`;
const ratioName = (name: string) => `${name}ToBaseline`;

function besides(own: Record<string, number>, other: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(other).flatMap(([name, value]) => [
      [otherName(name), value],
      [ratioName(name), (own[name] ?? Number.NaN) / value],
    ]),
  );
}

function figureOf(kind: FigureKind, values: number[]): Figure {
  const figure = { ...kind, lowest: Math.min(...values), highest: Math.max(...values) };
  // A figure that has to be 0 fails by one round.
  const middle = kind.bar && "atMost" in kind.bar && kind.bar.atMost === 0 ? figure.highest : median(values);
  return { ...figure, median: middle, ...(kind.bar && { met: isMet(middle, kind.bar) }) };
}

function isMet(value: number, bar: NonNullable<FigureKind["bar"]>): boolean {
  return "atLeast" in bar ? value >= bar.atLeast : value <= bar.atMost;
}
