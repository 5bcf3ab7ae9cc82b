import { setTimeout as sleep } from "node:timers/promises";
import { type Link, startLink } from "@herald/dev/harness/link";
import type { ServiceName, ServiceProcess } from "@herald/e2e/herald/processes";
import { chartHeapArgs, chartLimitMebibytes } from "../chart-limits.ts";
import type { BenchHerald } from "../environment.ts";
import { peakMemoryMebibytes, resetPeakMemory } from "../peak-memory.ts";
import { EXACTLY_ONCE, type FigureKind, type Row } from "../row.ts";
import { startTraffic } from "../traffic.ts";

const SERVICES = { dispatcher: "dispatcher", publisher: "publisher", "management-api": "management API" } as const;
const NAMES = Object.keys(SERVICES) as ServiceName[];
/** As many slots as a dispatcher has for deliveries, and as many again: it may have all of them in flight. */
const ENDPOINTS = 100;
const ANSWER_AFTER_MS = 500;
const WARM_UP_EVENTS = 4_000;
const LARGE = 2_000;
/** Of an event of 256 KiB the rest is its envelope. */
const LARGE_TEXT_BYTES = 255 * 1_024;
/** So the bench itself holds no more of them. */
const LARGE_AT_ONCE = 50;
const STALL_MS = 20_000;

/** What the services take of memory inside the chart's limits: under load, and with many large bodies waiting. */
export const memoryRow: Row = {
  name: "memory",
  title: "Memory inside the chart's limits",
  figures: {
    ...figuresOf("load", "under load", 130),
    ...figuresOf("large", `with ${LARGE} bodies of 256 KiB waiting`, 256),
    died: { label: "processes that died", unit: "", bar: { atMost: 0 } },
    ...EXACTLY_ONCE,
  },
  compared: Object.fromEntries(["load", "large"].flatMap((when) => NAMES.map((name) => [`${when}-${name}`, "shown"]))),
  async open(environment, { seconds, progress }) {
    const herald = await environment.openHerald("memory");
    const database = await startLink(() => [new URL(herald.databaseUrl)]);
    const services = await keepRunning(herald, database);
    const traffic = await startTraffic(environment, herald, {
      api: services.current("management-api"),
      endpoints: ENDPOINTS,
    });
    progress("Warming up");
    await traffic.emit(WARM_UP_EVENTS);
    await traffic.untilReceived(WARM_UP_EVENTS);

    async function underLoad(): Promise<number> {
      await traffic.answerAfter(0);
      return await traffic.feed(AbortSignal.timeout(seconds * 1_000));
    }

    /** PostgreSQL says nothing while they gather, and then they come to receivers that take their time. */
    async function large(): Promise<number> {
      await traffic.answerAfter(ANSWER_AFTER_MS);
      database.stall();
      // However long the broker takes for them.
      const stalling = sleep(STALL_MS).then(database.release);
      for (let emitted = 0; emitted < LARGE; emitted += LARGE_AT_ONCE)
        await traffic.emit(LARGE_AT_ONCE, LARGE_TEXT_BYTES);
      await stalling;
      return LARGE;
    }

    return {
      conditions: {
        ...Object.fromEntries(NAMES.map((name) => [`limit of ${name}`, `${chartLimitMebibytes(name)} MiB`])),
        "of it for V8's heap": "half",
        endpoints: ENDPOINTS,
        "large bodies": LARGE,
        "PostgreSQL says nothing for": `${STALL_MS / 1_000} s`,
        "receiver answers large ones after": `${ANSWER_AFTER_MS} ms, more or less a half`,
        seconds,
      },
      async round() {
        await traffic.reset();
        const measured: Record<string, number> = {};
        let emitted = 0;
        for (const [when, work] of Object.entries({ load: underLoad, large })) {
          services.resetPeaks();
          emitted += await work();
          await traffic.untilReceived(emitted);
          for (const name of NAMES) measured[`${when}-${name}`] = services.peak(name);
        }
        const { different, repeated } = await traffic.arrivals();
        return { ...measured, died: services.takeDeaths(), lost: emitted - different, repeated };
      },
      async close() {
        services.letEnd();
        await traffic.close();
        await herald.close();
        await database.close();
      },
    };
  },
};

function figuresOf(when: string, words: string, atMost: number): Record<string, FigureKind> {
  const figures = NAMES.map((name): [string, FigureKind] => [
    `${when}-${name}`,
    { label: `most memory of the ${SERVICES[name]}, ${words}`, unit: "MiB", bar: { atMost } },
  ]);
  return Object.fromEntries(figures);
}

/** One of each service, started again when it dies, as an orchestrator does; they reach PostgreSQL over the link. */
async function keepRunning(herald: BenchHerald, database: Link) {
  const running = new Map<ServiceName, ServiceProcess>();
  /** Of those that have died since the last reset. */
  const peaks = new Map<ServiceName, number>();
  let deaths = 0;
  let mayEnd = false;

  async function start(name: ServiceName): Promise<void> {
    const url = new URL(herald.databaseUrl);
    url.port = String(database.port);
    const service = await herald.start(name, { DATABASE_URL: url.href }, chartHeapArgs(name));
    running.set(name, service);
    /** It is ready only when PostgreSQL answers, and may die again before that. */
    const again = (): Promise<void> => start(name).catch(() => (mayEnd ? undefined : again()));
    void service.process.exited.then(() => {
      if (mayEnd) return;
      deaths += 1;
      // What it had at the end nobody knows; it was more than it may have.
      peaks.set(name, chartLimitMebibytes(name));
      void again();
    });
  }

  for (const name of NAMES) await start(name);
  return {
    current(name: ServiceName): ServiceProcess {
      return running.get(name) as ServiceProcess;
    },
    resetPeaks() {
      peaks.clear();
      for (const service of running.values()) resetPeakMemory(service.process.pid);
    },
    peak(name: ServiceName): number {
      return peaks.get(name) ?? peakMemoryMebibytes((running.get(name) as ServiceProcess).process.pid);
    },
    takeDeaths(): number {
      const taken = deaths;
      deaths = 0;
      return taken;
    },
    letEnd() {
      mayEnd = true;
    },
  };
}
