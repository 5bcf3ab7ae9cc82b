import { quantile } from "@herald/e2e/statistics";
import { cpuSoFar, measureSteady, untilArrived } from "../measuring.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type FigureKind, type Row, SAMPLE_BODY, worseOf } from "../row.ts";
import { startHerald } from "../running-herald.ts";

const ENDPOINTS = 20;
/** The same process needs half as much again for an event while it is fresh. */
const WARM_UP_SECONDS = 20;
const RATES = [50, 100, 200, 400, 800] as const;
/** A middling load, at which nothing has to wait for anything. */
const MIDDLING = 200;

/** How long an event is on its way at growing loads, and what it costs at a middling one. */
export const latencyRow: Row = {
  name: "latency",
  title: "From the emitter to the receiver",
  figures: {
    ...Object.fromEntries(RATES.flatMap(figuresOf)),
    p99: { label: `at ${MIDDLING}/s: 99 % within`, unit: "ms" },
    cpu: { label: "  CPU an event, of all processes", unit: "us" },
    dispatcherCpu: { label: "    of the dispatcher", unit: "us" },
    publisherCpu: { label: "    of the publisher", unit: "us" },
    postgresCpu: { label: "    of PostgreSQL", unit: "us" },
    rabbitmqCpu: { label: "    of RabbitMQ", unit: "us" },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  ratios: {
    [`p50At${MIDDLING}`]: { atMost: 0.55 },
    [`p95At${MIDDLING}`]: { atMost: 0.55 },
    cpu: { atMost: 0.7 },
    postgresCpu: { atMost: 0.35 },
  },
  async open(environment, { seconds, progress }) {
    const { traffic, service, close } = await startHerald(environment, { name: "latency", endpoints: ENDPOINTS });
    progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(MIDDLING, WARM_UP_SECONDS));

    async function at(perSecond: number): Promise<Record<string, number>> {
      const cpu = () => cpuSoFar([service("dispatcher")], service("publisher"));
      const before = await cpu();
      const { emitted, busy } = await measureSteady(traffic, { perSecond, seconds });
      const { lost, repeated, delays } = await untilArrived(traffic, emitted);
      const after = await cpu();
      const measured = {
        [`p50At${perSecond}`]: quantile(delays, 0.5),
        [`p95At${perSecond}`]: quantile(delays, 0.95),
        ...busy,
        lost,
        repeated,
      };
      if (perSecond !== MIDDLING) return measured;
      const names = Object.keys(after) as (keyof typeof after)[];
      const each = Object.fromEntries(names.map((name) => [name, (after[name] - before[name]) / emitted]));
      const cpuOfAll = Object.values(each).reduce((sum, cpu) => sum + cpu, 0);
      return { ...measured, p99: quantile(delays, 0.99), cpu: cpuOfAll, ...each };
    }

    return {
      conditions: `one process of each service, ${ENDPOINTS} endpoints that answer at once, bodies of ${SAMPLE_BODY.length} bytes, ${seconds} s`,
      async round() {
        const measured: Record<string, number>[] = [];
        for (const perSecond of RATES) measured.push(await at(perSecond));
        return worseOf(measured);
      },
      close,
    };
  },
};

function figuresOf(perSecond: number): [string, FigureKind][] {
  return [
    [`p50At${perSecond}`, { label: `at ${perSecond}/s, half within`, unit: "ms" }],
    [`p95At${perSecond}`, { label: "  95 % within", unit: "ms" }],
  ];
}
