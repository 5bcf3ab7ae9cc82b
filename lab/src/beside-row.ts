import { quantile } from "@herald/e2e/statistics";
import { BENCH_LOAD, type BenchOptions, EXACTLY_ONCE, type FigureKind, type Row } from "./row.ts";
import { type RunningHerald, startHerald } from "./running-herald.ts";
import { SAMPLE_BODY } from "./sample-body.ts";
import { measureSteady, type Steady } from "./steady-traffic.ts";

/** What a disturbance came to, beside which the steady traffic went on. */
export interface Beside {
  /** The steady traffic meanwhile. */
  steady: Steady;
  /** Events that never arrived, and those that arrived again, from the disturbance's begin to its end. */
  lost: number;
  repeated: number;
  /** Figures of this row alone. */
  figures?: Record<string, number>;
}

export interface BesideRowOptions {
  name: string;
  title: string;
  /** Names the disturbance, as in "while 10 % hang". */
  beside: string;
  /** The most that the 95th percentile may grow by. */
  atMost: number;
  /** Of the steady traffic. */
  endpoints: number;
  perSecond: number;
  /** Figures of this row alone. */
  figures?: Readonly<Record<string, FigureKind>>;
  /** What the figures hold for, besides what all such rows say. */
  conditions: Readonly<Record<string, string | number>>;
  /**
   * Prepares the disturbance once; returns what one round of it does. `measure` measures the steady traffic, and is called
   * while the disturbance goes on.
   */
  prepare(
    running: RunningHerald,
    options: BenchOptions,
  ): Promise<{
    /** Before the steady traffic is measured alone. */
    before?: () => Promise<void>;
    disturb(measure: () => Promise<Steady>, alone: Steady): Promise<Beside>;
  }>;
}

const WARM_UP_SECONDS = 5;

/**
 * A row that asks what steady traffic notices of something that concerns others: the same traffic alone, and a moment
 * later beside the disturbance, in each round.
 */
export function besideRow(row: BesideRowOptions): Row {
  const { name, title, beside, atMost, endpoints, perSecond } = row;
  return {
    name,
    title,
    figures: {
      aloneP95: { label: "95 % within, alone", unit: "ms" },
      besideP95: { label: `95 % within, ${beside}`, unit: "ms" },
      ratio: { label: "the one to the other", unit: "x", bar: { atMost } },
      aloneP50: { label: "half within, alone", unit: "ms" },
      besideP50: { label: `half within, ${beside}`, unit: "ms" },
      ...row.figures,
      ...BENCH_LOAD,
      ...EXACTLY_ONCE,
    },
    compared: { ratio: "shown", ...Object.fromEntries(Object.keys(row.figures ?? {}).map((name) => [name, "shown"])) },
    async open(environment, options) {
      const { seconds } = options;
      const running = await startHerald(environment, { name, endpoints });
      const { traffic } = running;
      const { before, disturb } = await row.prepare(running, options);
      options.progress("Warming up");
      await traffic.untilReceived(await traffic.emitEvenly(perSecond, WARM_UP_SECONDS));
      const measure = () => measureSteady(traffic, { perSecond, seconds });
      return {
        conditions: {
          "processes of each service": 1,
          endpoints,
          "events a second, of all": perSecond,
          "receiver answers after": "0 ms",
          ...row.conditions,
          "body bytes": SAMPLE_BODY.length,
          seconds,
        },
        async round() {
          await before?.();
          const alone = await measure();
          await traffic.untilReceived(alone.emitted);
          const first = await traffic.arrivals();
          const { steady, lost, repeated, figures } = await disturb(measure, alone);
          const [aloneP95, besideP95] = [quantile(alone.delays, 0.95), quantile(steady.delays, 0.95)];
          return {
            aloneP95,
            besideP95,
            ratio: besideP95 / aloneP95,
            aloneP50: quantile(alone.delays, 0.5),
            besideP50: quantile(steady.delays, 0.5),
            receiverBusy: Math.max(alone.busy.receiver, steady.busy.receiver),
            emitterBusy: Math.max(alone.busy.emitter, steady.busy.emitter),
            ...figures,
            lost: alone.emitted - first.different + lost,
            repeated: first.repeated + repeated,
          };
        },
        close: running.close,
      };
    },
  };
}
