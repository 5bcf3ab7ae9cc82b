import { quantile } from "@herald/e2e/statistics";
import { measureSteady, type Steady } from "./measuring.ts";
import { BENCH_LOAD, type BenchOptions, EXACTLY_ONCE, type FigureKind, type Row, SAMPLE_BODY, worseOf } from "./row.ts";
import { type RunningHerald, startHerald } from "./running-herald.ts";

/** Something that concerns others than the steady traffic, beside which that goes on. */
export interface Disturbance {
  /** As in "while 10 % hang". */
  beside: string;
  /** The most that the 95th percentile may be, or what it may grow by. */
  atMost: { ms: number } | { times: number };
  /** Figures of this disturbance alone. */
  figures?: Readonly<Record<string, FigureKind>>;
  /** Prepares it once; returns what one round of it does. */
  prepare(running: RunningHerald, options: BenchOptions): Promise<DisturbanceRounds>;
}

export interface DisturbanceRounds {
  /** Before the steady traffic is measured alone. */
  before?(): Promise<unknown>;
  /** `measure` measures the steady traffic, and is called while the disturbance goes on. */
  disturb(measure: () => Promise<Steady>): Promise<Beside>;
}

/** The result of a disturbance. */
export interface Beside {
  /** The steady traffic beside it. */
  steady: Steady;
  /** Events that never arrived, and those that arrived again, from the disturbance's begin to its end. */
  lost: number;
  repeated: number;
  /** Figures of this disturbance alone. */
  figures?: Record<string, number>;
}

const STEADY_PER_SECOND = 200;
const ENDPOINTS = 20;
const WARM_UP_SECONDS = 5;

/**
 * A row that asks what steady traffic notices of something that concerns others: the same traffic alone, and a moment
 * later beside the disturbance, for each disturbance in each round.
 *
 * @param row with its disturbances by the names that their figures begin with
 */
export function besideRow(row: {
  name: string;
  title: string;
  /** The row's own conditions, besides those of all such rows. */
  conditions: string;
  disturbances: Readonly<Record<string, Disturbance>>;
}): Row {
  const disturbances = Object.entries(row.disturbances);
  return {
    name: row.name,
    title: row.title,
    figures: {
      ...Object.assign({}, ...disturbances.map(([name, disturbance]) => figuresOf(name, disturbance))),
      ...BENCH_LOAD,
      ...EXACTLY_ONCE,
    },
    async open(environment, options) {
      const { seconds } = options;
      const running = await startHerald(environment, { name: row.name, endpoints: ENDPOINTS });
      const { traffic } = running;
      const rounds: [string, DisturbanceRounds][] = [];
      for (const [name, { prepare }] of disturbances) rounds.push([name, await prepare(running, options)]);
      options.progress("Warming up");
      await traffic.untilReceived(await traffic.emitEvenly(STEADY_PER_SECOND, WARM_UP_SECONDS));
      const measure = () => measureSteady(traffic, { perSecond: STEADY_PER_SECOND, seconds });

      async function roundOf(name: string, { before, disturb }: DisturbanceRounds): Promise<Record<string, number>> {
        await before?.();
        const alone = await measure();
        await traffic.untilReceived(alone.emitted);
        const first = await traffic.arrivals();
        const { steady, lost, repeated, figures } = await disturb(measure);
        const [aloneP95, besideP95] = [quantile(alone.delays, 0.95), quantile(steady.delays, 0.95)];
        return {
          [`${name}Alone`]: aloneP95,
          [`${name}Beside`]: besideP95,
          [`${name}Ratio`]: besideP95 / aloneP95,
          ...worseOf([{ ...alone.busy }, { ...steady.busy }]),
          ...figures,
          lost: alone.emitted - first.different + lost,
          repeated: first.repeated + repeated,
        };
      }

      return {
        conditions: `one process of each service, ${ENDPOINTS} endpoints that answer at once and get ${STEADY_PER_SECOND} events a second together, ${row.conditions}, bodies of ${SAMPLE_BODY.length} bytes, ${seconds} s`,
        async round() {
          const measured: Record<string, number>[] = [];
          for (const [name, each] of rounds) measured.push(await roundOf(name, each));
          return worseOf(measured);
        },
        close: running.close,
      };
    },
  };
}

function figuresOf(name: string, { beside, atMost, figures }: Disturbance): Record<string, FigureKind> {
  return {
    [`${name}Alone`]: { label: "95 % within, alone", unit: "ms" },
    [`${name}Beside`]: { label: `  ${beside}`, unit: "ms", ...("ms" in atMost && { bar: { atMost: atMost.ms } }) },
    [`${name}Ratio`]: {
      label: "  the one to the other",
      unit: "x",
      ...("times" in atMost && { bar: { atMost: atMost.times } }),
    },
    ...figures,
  };
}
