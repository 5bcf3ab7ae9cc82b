import { startChild } from "@herald/e2e/child";
import { quantile } from "@herald/e2e/statistics";
import type { BenchEnvironment } from "../environment.ts";
import { cpuSoFar, measureFullSpeed, measureSteady, untilArrived, warmUp } from "../measuring.ts";
import type { FloorRequest } from "../processes/floor.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row, SAMPLE_BODY, worseOf } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { startTraffic, type Traffic } from "../traffic.ts";

const ENDPOINTS = 20;
const MIDDLING = 200;

/** What Herald adds to the least that a sender on RabbitMQ, PostgreSQL and node:https does, by turns. */
export const floorRow: Row = {
  name: "floor",
  title: "Herald beside a program that takes, sends and stores, and keeps no promise",
  figures: {
    perSecond: { label: "deliveries", unit: "/s" },
    floorPerSecond: { label: "  of the program", unit: "/s" },
    rateRatio: { label: "  the one to the other", unit: "x", bar: { atLeast: 0.85 } },
    cpu: { label: "own CPU a delivery", unit: "us" },
    floorCpu: { label: "  of the program", unit: "us" },
    ...Object.assign({}, ...["p50", "p95", "p99"].map(figuresOf)),
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const herald = await startHerald(environment, { name: "floor", endpoints: ENDPOINTS });
    const floor = await startFloor(environment);
    progress("Warming up");
    for (const { traffic } of [herald, floor]) await warmUp(traffic);

    async function measure({ traffic }: { traffic: Traffic }, cpuNow: () => Promise<number>) {
      const { perSecond, each, busy, feeding } = await measureFullSpeed(traffic, seconds, async () => ({
        cpu: await cpuNow(),
      }));
      const full = await untilArrived(traffic, await feeding);
      const steady = await measureSteady(traffic, { perSecond: MIDDLING, seconds });
      const { lost, repeated, delays } = await untilArrived(traffic, steady.emitted);
      const quantiles = { p50: quantile(delays, 0.5), p95: quantile(delays, 0.95), p99: quantile(delays, 0.99) };
      const ends = worseOf([
        { ...busy, lost: full.lost, repeated: full.repeated },
        { ...steady.busy, lost, repeated },
      ]);
      return { ...quantiles, perSecond, cpu: each.cpu, ends };
    }

    const cpuOfHerald = async () => {
      const { dispatcherCpu, publisherCpu } = await cpuSoFar(
        [herald.service("dispatcher")],
        herald.service("publisher"),
      );
      return dispatcherCpu + publisherCpu;
    };
    return {
      conditions: `one process of each service, ${ENDPOINTS} endpoints that answer at once, bodies of ${SAMPLE_BODY.length} bytes, ${seconds} s each at full speed and at ${MIDDLING}/s`,
      async round() {
        const { ends, ...own } = await measure(herald, cpuOfHerald);
        const { ends: endsOfFloor, ...least } = await measure(floor, floor.cpu);
        const beside = (name: "p50" | "p95" | "p99") => ({
          [name]: own[name],
          [`${name}OfFloor`]: least[name],
          [`${name}Ratio`]: own[name] / least[name],
        });
        return {
          perSecond: own.perSecond,
          floorPerSecond: least.perSecond,
          rateRatio: own.perSecond / least.perSecond,
          cpu: own.cpu,
          floorCpu: least.cpu,
          ...beside("p50"),
          ...beside("p95"),
          ...beside("p99"),
          ...worseOf([ends, endsOfFloor]),
        };
      },
      async close() {
        await floor.close();
        await herald.close();
      },
    };
  },
};

function figuresOf(name: string) {
  const share = { p50: "half", p95: "95 %", p99: "99 %" }[name];
  return {
    [name]: { label: `at ${MIDDLING}/s, ${share} within`, unit: "ms" },
    [`${name}OfFloor`]: { label: "  of the program", unit: "ms" },
    [`${name}Ratio`]: { label: "  the one to the other", unit: "x", bar: { atMost: 1.5 } },
  };
}

async function startFloor(environment: BenchEnvironment) {
  const herald = await environment.openHerald("program");
  const child = await startChild(new URL("../processes/floor.js", import.meta.url));
  const ask = <T>(request: FloorRequest) => child.ask<T>(request);
  const urls: Record<string, string> = {};
  const subscribe = async (url: string) => {
    const organizationId = `organization-${Object.keys(urls).length}`;
    urls[organizationId] = url;
    return organizationId;
  };
  const { amqpUrl, namespace, databaseUrl } = herald;
  const traffic = await startTraffic(environment, herald, {
    subscribe,
    endpoints: ENDPOINTS,
    hostOf: () => "localhost",
  });
  await ask({ type: "start", amqpUrl, namespace, databaseUrl, ca: environment.authority, urls });
  return {
    traffic,
    cpu: () => ask<number>({ type: "cpu" }),
    async close() {
      await traffic.close();
      await child.stop();
      await herald.close();
    },
  };
}
