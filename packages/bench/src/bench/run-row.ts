import type { BenchEnvironment } from "./environment.ts";
import type { BenchOptions, FigureKind, Row } from "./row.ts";
import { median } from "./statistics.ts";

export interface Figure extends FigureKind {
  name: string;
  /** One a round. */
  values: number[];
  median: number;
  lowest: number;
  highest: number;
  /** Whether the median is within the bar; absent where there is none. */
  met?: boolean;
}

export interface RowResult {
  name: string;
  title: string;
  conditions: Readonly<Record<string, string | number>>;
  figures: Figure[];
}

/** Measures a row so many times over, on services that run through. */
export async function runRow(
  row: Row,
  environment: BenchEnvironment,
  { rounds, ...options }: BenchOptions & { rounds: number },
): Promise<RowResult> {
  const open = await row.open(environment, options);
  const measured: Record<string, number>[] = [];
  try {
    for (let round = 1; round <= rounds; round++) {
      options.progress(`${row.title}: round ${round} of ${rounds}`);
      measured.push(await open.round());
    }
  } finally {
    await open.close();
  }
  const figures = Object.entries(row.figures).map(([name, kind]) =>
    figureOf(
      name,
      kind,
      measured.map((round) => round[name] ?? Number.NaN),
    ),
  );
  return { name: row.name, title: row.title, conditions: open.conditions, figures };
}

function figureOf(name: string, kind: FigureKind, values: number[]): Figure {
  const figure = { name, ...kind, values, lowest: Math.min(...values), highest: Math.max(...values) };
  // Of what must never happen, one round in which it did is enough.
  const middle = kind.bar && "atMost" in kind.bar && kind.bar.atMost === 0 ? figure.highest : median(values);
  return { ...figure, median: middle, ...(kind.bar && { met: isMet(middle, kind.bar) }) };
}

function isMet(value: number, bar: NonNullable<FigureKind["bar"]>): boolean {
  return "atLeast" in bar ? value >= bar.atLeast : value <= bar.atMost;
}
