import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceProcess } from "@herald/e2e/herald/processes";
import { readService } from "@herald/e2e/herald/readings";
import { serverCpu } from "../measuring.ts";
import type { Row } from "../row.ts";
import { checkpoint, storeFinished } from "./stored.ts";

const ENDPOINTS = 100_000;
const DISPATCHERS = 2;
/** What was stored in bulk is vacuumed and written, and code has run often enough. */
const SETTLING_MS = 15_000;

/** What it costs to look for work where there is none, however many endpoints there are. */
export const idleRow: Row = {
  name: "idle",
  title: "Many endpoints, and nothing due",
  figures: {
    postgresCpu: { label: "CPU of PostgreSQL, of a core", unit: "%", bar: { atMost: 2 } },
    dispatcherCpu: { label: "CPU of a dispatcher, of a core", unit: "%" },
  },
  // One PostgreSQL serves both, and both look all the time.
  compared: { dispatcherCpu: "shown" },
  async open(environment, { seconds, progress }) {
    const herald = await environment.openHerald("idle");
    const endpoints = { endpoints: 1, otherEndpoints: ENDPOINTS - 1 };
    await storeFinished(herald, { organizationId: "organization", ...endpoints, deliveries: 0, days: 1, progress });
    await checkpoint(herald);
    const dispatchers: ServiceProcess[] = [];
    while (dispatchers.length < DISPATCHERS) dispatchers.push(await herald.start("dispatcher"));
    progress("Letting everything come to rest");
    await sleep(SETTLING_MS);

    async function reading() {
      const ofDispatchers = (await Promise.all(dispatchers.map(readService))).map(({ cpuSeconds }) => cpuSeconds);
      return {
        at: performance.now(),
        postgres: serverCpu().postgres,
        dispatcher: ofDispatchers.reduce((sum, each) => sum + each, 0) / DISPATCHERS,
      };
    }

    return {
      conditions: `${ENDPOINTS.toLocaleString("en")} endpoints, ${DISPATCHERS} dispatchers, ${seconds} s`,
      async round() {
        const before = await reading();
        await sleep(seconds * 1_000);
        const after = await reading();
        const percent = (cpuSeconds: number) => (cpuSeconds * 100_000) / (after.at - before.at);
        return {
          postgresCpu: percent(after.postgres - before.postgres),
          dispatcherCpu: percent(after.dispatcher - before.dispatcher),
        };
      },
      close: herald.close,
    };
  },
};
