import type { BenchEnvironment } from "./environment.ts";

/** A figure that Herald has to reach: something measured over several rounds. */
export interface Row {
  /** Its name for `--only`. */
  readonly name: string;
  readonly title: string;
  /** By the names that `round` returns, in the order in which they are shown. */
  readonly figures: Readonly<Record<string, FigureKind>>;
  /** What the ratio of a figure to that of `--baseline` has to reach. */
  readonly ratios?: Readonly<Record<string, Bar>>;
  /** Starts what it measures, and warms it up. */
  open(environment: BenchEnvironment, options: BenchOptions): Promise<OpenRow>;
}

export interface OpenRow {
  /** The conditions of the figures: how many endpoints, what the receiver does, and the like. */
  readonly conditions: string;
  /** One measurement of each figure. */
  round(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

export interface FigureKind {
  readonly label: string;
  readonly unit: "/s" | "ms" | "us" | "B" | "MiB" | "x" | "%" | "";
  /** The bar that it has to reach, or that makes the other figures of the row trustworthy. */
  readonly bar?: Bar;
}

export type Bar = { readonly atLeast: number } | { readonly atMost: number };

export interface BenchOptions {
  /** How long each figure is measured in a round. */
  readonly seconds: number;
  readonly progress: (text: string) => void;
}

/** For rows where the bench itself could be the bottleneck. */
export const BENCH_LOAD = {
  receiverBusy: { label: "the bench's receiver was busy", unit: "%", bar: { atMost: 80 } },
  emitterBusy: { label: "the bench's emitter was busy", unit: "%", bar: { atMost: 80 } },
} as const satisfies Record<string, FigureKind>;

/** Speed is never bought with loss: these two belong to every row that sends events. */
export const EXACTLY_ONCE = {
  lost: { label: "events that never arrived", unit: "", bar: { atMost: 0 } },
  repeated: { label: "events that arrived again", unit: "", bar: { atMost: 0 } },
} as const satisfies Record<string, FigureKind>;

/** Figures of several measurements of a round in one: of what two of them have, what the bench got to, the worse one. */
export function worseOf(measured: readonly Record<string, number>[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const figures of measured) {
    for (const [name, value] of Object.entries(figures))
      all[name] = Math.max(all[name] ?? Number.NEGATIVE_INFINITY, value);
  }
  return all;
}

const SAMPLE = {
  id: "0190a1b2-0000-7000-8000-0000000000bb",
  type: "WorkItemCompleted",
  occurredAtUtc: "2026-03-01T12:00:00.000Z",
  entityType: "WorkItem",
  entityId: "0190a1b2-0000-7000-8000-0000000000aa",
};
const STATUS = { oldValue: "InProgress", newValue: "Done" };

/** As large as the bodies that Herald sends for the bench's events. */
export const SAMPLE_BODY = JSON.stringify({
  ...SAMPLE,
  data: { changes: { Status: STATUS, Emitted: { oldValue: null, newValue: "1772366400000.000" } } },
});

/** The same without a time, for events whose way is not measured; from behind the id, which each one has of its own. */
export const UNTIMED_BODY_REST = JSON.stringify({
  ...SAMPLE,
  data: { changes: { Status: STATUS, Reason: { oldValue: null, newValue: "beside the point" } } },
}).slice(`{"id":"${SAMPLE.id}`.length);
