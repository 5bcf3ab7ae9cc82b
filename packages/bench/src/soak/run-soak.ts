import { openDatabase } from "@herald/common/database/open-database";
import type { ServiceName } from "@herald/e2e/herald/processes";
import type { BenchEnvironment } from "../bench/environment.ts";
import { startHerald } from "../bench/running-herald.ts";
import { quantile } from "../bench/statistics.ts";
import { type Course, courseOf } from "./flatness.ts";
import { type SoakFigure, sampleDatabase, sampleServices, soakFigures } from "./sample.ts";

export interface SoakOptions {
  minutes: number;
  /** Events a second, each of which is one delivery. */
  rate: number;
  progress: (text: string) => void;
}

export interface SoakResult {
  emitted: number;
  lost: number;
  repeated: number;
  figures: (SoakFigure & Course & { name: string })[];
}

const SERVICES = ["management-api", "publisher", "dispatcher"] as const satisfies ServiceName[];
const ENDPOINTS = 20;
/** After each, everything has to have arrived, exactly once, and is looked at. */
const WINDOW_SECONDS = 10;

/** Keeps an even load on one process of each service, inside the chart's limits of memory, and looks whether anything grows with the time. */
export async function runSoak(
  environment: BenchEnvironment,
  { minutes, rate, progress }: SoakOptions,
): Promise<SoakResult> {
  const running = await startHerald(environment, { name: "soak", endpoints: ENDPOINTS, withinChartLimits: true });
  const { herald, traffic } = running;
  const database = openDatabase(herald.databaseUrl, { applicationName: "herald-bench", poolSize: 1 });
  const services = new Map(SERVICES.map((name) => [name, running.service(name)] as const));
  const samples: Record<string, number>[] = [];
  const sums = { emitted: 0, lost: 0, repeated: 0 };
  try {
    const windows = Math.max(4, Math.round((minutes * 60) / WINDOW_SECONDS));
    for (let window = 1; window <= windows; window++) {
      const emitted = await traffic.emitEvenly(rate, WINDOW_SECONDS);
      await traffic.untilReceived(emitted);
      const { different, repeated, delays } = await traffic.arrivals();
      samples.push({
        ...(await sampleServices(services)),
        ...(await sampleDatabase(database.prisma)),
        p50: quantile(delays, 0.5),
        p95: quantile(delays, 0.95),
      });
      await traffic.reset();
      sums.emitted += emitted;
      sums.lost += emitted - different;
      sums.repeated += repeated;
      progress(`Window ${window} of ${windows}, ${sums.emitted} events`);
    }
  } finally {
    await database.close();
    await running.close();
  }
  return {
    ...sums,
    figures: Object.entries(soakFigures(SERVICES)).map(([name, figure]) => ({
      name,
      ...figure,
      ...courseOf(
        samples.map((sample) => sample[name] ?? Number.NaN),
        figure.tolerance,
      ),
    })),
  };
}
