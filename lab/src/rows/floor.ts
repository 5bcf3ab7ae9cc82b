import { startChild } from "@herald/e2e/child";
import type { BenchEnvironment } from "../environment.ts";
import { cpuSoFar, measureBoth, warmUp } from "../measuring.ts";
import type { FloorRequest } from "../processes/floor.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type FigureKind, type Row, SAMPLE_BODY, worseOf } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { startTraffic, type Traffic } from "../traffic.ts";

const ENDPOINTS = 20;
const MIDDLING = 200;
const delay = (share: string): FigureKind => ({
  label: `at ${MIDDLING}/s, ${share} within`,
  unit: "ms",
  bar: { atMost: 1.5 },
});
const KINDS = {
  perSecond: { label: "deliveries", unit: "/s", bar: { atLeast: 0.85 } },
  cpu: { label: "own CPU a delivery", unit: "us" },
  p50: delay("half"),
  p95: delay("95 %"),
  p99: delay("99 %"),
} satisfies Record<string, FigureKind>;

/** A figure of Herald, that of the program, and their ratio, which has the bar. */
const kindsOf = (name: string, { bar, ...kind }: FigureKind): Record<string, FigureKind> => ({
  [name]: kind,
  [`${name}OfFloor`]: { label: "  of the program", unit: kind.unit },
  [`${name}Ratio`]: { label: "  the one to the other", unit: "x", ...(bar && { bar }) },
});

/** What Herald adds to the least that a sender on RabbitMQ, PostgreSQL and node:https does, by turns. */
export const floorRow: Row = {
  name: "floor",
  title: "Herald beside a program that takes, sends and stores, and keeps no promise",
  figures: {
    ...Object.assign({}, ...Object.entries<FigureKind>(KINDS).map(([name, kind]) => kindsOf(name, kind))),
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const herald = await startHerald(environment, { name: "floor", endpoints: ENDPOINTS });
    const floor = await startFloor(environment);
    progress("Warming up");
    for (const { traffic } of [herald, floor]) await warmUp(traffic);

    const measure = ({ traffic }: { traffic: Traffic }, cpu: () => Promise<number>) =>
      measureBoth(traffic, { seconds, evenly: MIDDLING }, async () => ({ cpu: await cpu() }));

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
        const own = await measure(herald, cpuOfHerald);
        const other = await measure(floor, floor.cpu);
        const figures = (Object.keys(KINDS) as (keyof typeof KINDS)[]).map((name) => ({
          [name]: own[name],
          [`${name}OfFloor`]: other[name],
          [`${name}Ratio`]: own[name] / other[name],
        }));
        return Object.assign({}, ...figures, worseOf([...own.ends, ...other.ends]));
      },
      async close() {
        await floor.close();
        await herald.close();
      },
    };
  },
};

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
  const hostOf = () => "localhost";
  const traffic = await startTraffic(environment, herald, { subscribe, endpoints: ENDPOINTS, hostOf });
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
