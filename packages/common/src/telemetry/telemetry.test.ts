import { expect, jest, test } from "@jest/globals";
import { Counter, Gauge, Histogram, Registry, reading } from "./metrics.ts";
import { exportDependencies, joinMetrics } from "./operations-server.ts";
import { readTraceparent, writeTraceparent } from "./tracing.ts";

function registryOf(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  new Gauge({ name: "up", help: "Whether it runs.", registers: [registry] }).set(1);
  return registry;
}

test("a metric of two registries stands once, with the series of both", async () => {
  const [first, second] = [registryOf("publisher"), registryOf("dispatcher")];
  new Counter({ name: "attempts_total", help: "Attempts.", labelNames: ["outcome"], registers: [second] }).inc({
    outcome: "failed",
  });
  expect(joinMetrics(await Promise.all([first.metrics(), second.metrics()]))).toBe(`# HELP up Whether it runs.
# TYPE up gauge
up{service="publisher"} 1
up{service="dispatcher"} 1

# HELP attempts_total Attempts.
# TYPE attempts_total counter
attempts_total{outcome="failed",service="dispatcher"} 1
`);
});

test("the metrics of one registry stay as they are, also those that have no series yet", async () => {
  const registry = registryOf("publisher");
  new Counter({ name: "notices_total", help: "Notices.", labelNames: ["type"], registers: [registry] });
  new Histogram({ name: "batch", help: "A batch's size.", buckets: [1, 10], registers: [registry] }).observe(3);
  const text = await registry.metrics();
  expect(joinMetrics([text])).toBe(text);
});

test("a part that never says whether it can be used counts as one that can't, and the metrics answer", async () => {
  const registry = new Registry();
  exportDependencies(registry, { database: () => new Promise(() => {}), broker: () => true });
  const text = await registry.metrics();
  expect(text).toContain('herald_dependency_up{dependency="database"} 0\nherald_dependency_up{dependency="broker"} 1');
});

/** By how much the monotonic clock is ahead. */
let aheadMs = 0;
const { now } = performance;
jest.spyOn(performance, "now").mockImplementation(() => now.call(performance) + aheadMs);

/** A reading whose end a test decides. */
function steered() {
  const ends: PromiseWithResolvers<number>[] = [];
  const failures: unknown[] = [];
  const figures = reading(
    5_000,
    () => {
      const end = Promise.withResolvers<number>();
      ends.push(end);
      return end.promise;
    },
    { lateMs: 20, onFailure: (error) => failures.push(error) },
  );
  return { figures, ends, failures };
}

test("a reading without an end keeps nobody waiting, and no other one begins beside it", async () => {
  const { figures, ends } = steered();
  for (let scrape = 0; scrape < 3; scrape++) {
    expect(await figures()).toBeUndefined();
    aheadMs += 10_000;
  }
  expect(ends).toHaveLength(1);
});

test("a late reading is shown at the next scrape, and for a minute in the place of a later one", async () => {
  const { figures, ends } = steered();
  expect(await figures()).toBeUndefined();
  ends[0]?.resolve(1);
  expect(await figures()).toBe(1);
  aheadMs += 30_000;
  expect(await figures()).toBe(1);
  expect(ends).toHaveLength(2);
  aheadMs += 31_000;
  expect(await figures()).toBeUndefined();
  ends[1]?.resolve(2);
  expect(await figures()).toBe(2);
});

test("a reading that fails shows nothing, and the next scrape begins another one", async () => {
  const { figures, ends, failures } = steered();
  const first = figures();
  ends[0]?.resolve(1);
  expect(await first).toBe(1);
  aheadMs += 10_000;
  const second = figures();
  ends[1]?.reject("away");
  expect(await second).toBeUndefined();
  expect(failures).toEqual(["away"]);
  aheadMs += 10_000;
  const third = figures();
  ends[2]?.resolve(3);
  expect(await third).toBe(3);
});

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("a traceparent is read and written back", () => {
  for (const flags of ["00", "01"]) {
    const text = `00-${TRACE}-${SPAN}-${flags}`;
    const read = readTraceparent(text);
    expect(read).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: flags === "01" });
    expect(read && writeTraceparent(read)).toBe(text);
  }
});

test("only the lowest bit of the flags says that the trace is recorded", () => {
  expect(readTraceparent(`00-${TRACE}-${SPAN}-fe`)?.isSampled).toBe(false);
  expect(readTraceparent(`00-${TRACE}-${SPAN}-03`)?.isSampled).toBe(true);
});

test.each([
  null,
  undefined,
  "",
  "nonsense",
  `00-${TRACE}-${SPAN}`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`,
])("%p is no traceparent", (text) => {
  expect(readTraceparent(text)).toBeUndefined();
});
