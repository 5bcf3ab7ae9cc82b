import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { startLink } from "@herald/dev/harness/link";
import type { ServiceName, ServiceProcess } from "@herald/e2e/herald/processes";
import { chartLimit, peakOf } from "@herald/e2e/herald/readings";
import { untilArrived, warmUp } from "../measuring.ts";
import { EXACTLY_ONCE, type FigureKind, type Row } from "../row.ts";
import { startTraffic } from "../traffic.ts";

const SERVICES = { dispatcher: "dispatcher", publisher: "publisher", "management-api": "management API" } as const;
const NAMES = Object.keys(SERVICES) as ServiceName[];
/** The chart's names of them. */
const IN_CHART = { "management-api": "managementApi", publisher: "publisher", dispatcher: "dispatcher" } as const;
/** A thousand attempts at once: half of what a dispatcher in the chart has permits for, and more than it gets to here. */
const ENDPOINTS = 100;
const ANSWER_AFTER_MS = 500;
const LARGE = 2_000;
/** The rest of an event of 256 KiB is its envelope. */
const LARGE_TEXT_BYTES = 255 * 1_024;
/** So the bench itself holds no more of them. */
const LARGE_AT_ONCE = 50;
const STALL_MS = 20_000;

/** Memory of the services inside the chart's limits: under load, and with many large bodies waiting. */
export const memoryRow: Row = {
  name: "memory",
  title: "Memory inside the chart's limits",
  figures: {
    ...figuresOf("load", "under load", 130),
    ...figuresOf("large", `with ${LARGE} bodies of 256 KiB waiting`, 256),
    died: { label: "processes that died", unit: "", bar: { atMost: 0 } },
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const herald = await environment.openHerald("memory");
    const database = await startLink(() => [new URL(herald.databaseUrl)]);
    const url = new URL(herald.databaseUrl);
    url.port = String(database.port);
    const services = new Map<ServiceName, ServiceProcess>();
    const limits = Object.fromEntries(NAMES.map((name) => [name, chartLimit(IN_CHART[name])])) as Record<
      ServiceName,
      number
    >;
    let died = 0;
    for (const name of NAMES) {
      // In a container, its limit is what MEMORY_MIB says here.
      const settings = { DATABASE_URL: url.href, MEMORY_MIB: String(limits[name]) };
      const service = await herald.start(name, settings);
      services.set(name, service);
      void service.process.exited.then(() => {
        died += 1;
      });
    }
    const api = services.get("management-api") as ServiceProcess;
    const traffic = await startTraffic(environment, herald, { api, endpoints: ENDPOINTS });
    progress("Warming up");
    await warmUp(traffic);

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
      conditions: `${NAMES.map((name) => `${limits[name]} MiB for the ${SERVICES[name]}`).join(", ")}; ${ENDPOINTS} endpoints; PostgreSQL says nothing for ${STALL_MS / 1_000} s, and large bodies are answered after ${ANSWER_AFTER_MS} ms, more or less a half; ${seconds} s`,
      async round() {
        await traffic.reset();
        const measured: Record<string, number> = {};
        let emitted = 0;
        for (const [when, work] of Object.entries({ load: underLoad, large })) {
          for (const service of services.values()) resetPeakMemory(service.process.pid);
          emitted += await work();
          // One that has died is not started again: then this fails, and says so.
          await traffic.untilReceived(emitted);
          for (const [name, service] of services) measured[`${when}-${name}`] = peakOf(service.process.pid);
        }
        const { lost, repeated } = await untilArrived(traffic, emitted);
        return { ...measured, died, lost, repeated };
      },
      async close() {
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

/** Forgets the most memory that a process has had; fails without /proc. */
function resetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
