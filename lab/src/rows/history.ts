import { withClient } from "@herald/dev/stack/postgres";
import { quantile } from "@herald/e2e/statistics";
import type { BenchEnvironment, BenchHerald } from "../environment.ts";
import { type Beside, figuresBeside, kindsBeside, measureBoth, warmUp } from "../measuring.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type FigureKind, type Row, SAMPLE_BODY, worseOf } from "../row.ts";
import { type RunningHerald, startHerald } from "../running-herald.ts";

const ENDPOINTS = 20;
const DAYS = 40;
const MIDDLING = 200;
const PAGES = 200;

const EMPTY: Beside = { suffix: "Empty", words: "of the empty one" };
const KINDS = {
  perSecond: { label: "deliveries", unit: "/s", bar: { atLeast: 0.95 } },
  p50: { label: `at ${MIDDLING}/s, half within`, unit: "ms", bar: { atMost: 1.05 } },
  p95: { label: `at ${MIDDLING}/s, 95 % within`, unit: "ms", bar: { atMost: 1.05 } },
  page: { label: "a page of an endpoint's deliveries, half within", unit: "ms", bar: { atMost: 1.05 } },
} satisfies Record<string, FigureKind>;

/** Whether days of history cost anything: an empty Herald beside one with the partitions of 40 days, by turns. */
export const historyRow: Row = {
  name: "history",
  title: `A Herald with the partitions of ${DAYS} days beside an empty one`,
  figures: {
    ...kindsBeside(KINDS, EMPTY),
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const empty = await start(environment, "empty");
    const month = await start(environment, "month", { days: DAYS });
    progress("Warming up");
    for (const { running, endpoint } of [empty, month]) {
      await warmUp(running.traffic);
      await readPages(endpoint);
    }

    const measure = async ({ running: { traffic }, endpoint }: Measured) => ({
      ...(await measureBoth(traffic, { seconds, evenly: MIDDLING })),
      page: await readPages(endpoint),
    });
    type Measures = Awaited<ReturnType<typeof measure>>;
    let rounds = 0;

    return {
      conditions: `one process of each service, ${ENDPOINTS} endpoints that answer at once, bodies of ${SAMPLE_BODY.length} bytes, ${seconds} s each at full speed and at ${MIDDLING}/s`,
      async round() {
        // The first of a round has the cooler machine, so they take turns.
        const isEmptyFirst = rounds++ % 2 === 0;
        const [first, second] = isEmptyFirst ? [empty, month] : [month, empty];
        const both: [Measures, Measures] = [await measure(first), await measure(second)];
        if (isEmptyFirst) both.reverse();
        return { ...figuresBeside(KINDS, both, EMPTY), ...worseOf(both.flatMap(({ ends }) => ends)) };
      },
      async close() {
        for (const { running } of [empty, month]) await running.close();
      },
    };
  },
};

type Endpoint = Awaited<ReturnType<RunningHerald["traffic"]["addEndpoint"]>>;

interface Measured {
  running: RunningHerald;
  /** An endpoint with a page of deliveries. */
  endpoint: Endpoint;
}

async function start(environment: BenchEnvironment, name: string, { days = 0 } = {}): Promise<Measured> {
  const settings = { publisher: { RETENTION_DAYS: String(2 * DAYS) } };
  const running = await startHerald(environment, { name, endpoints: ENDPOINTS, settings });
  await makeDays(running.herald, days);
  const endpoint = await running.traffic.addEndpoint("listed");
  const emitter = await running.traffic.addEmitter(endpoint);
  await emitter.emit(PAGES);
  await running.traffic.untilReceived(PAGES, endpoint);
  return { running, endpoint };
}

/** Makes the partitions that so many days up to yesterday leave. */
async function makeDays({ databaseUrl }: BenchHerald, days: number): Promise<void> {
  await withClient(databaseUrl, (client) =>
    client.query(
      `select make_partitions(today - ago, today - ago + 1) from generate_series(1, $1::int) as ago, date(now() at time zone 'UTC') as today`,
      [days],
    ),
  );
}

/** Milliseconds that the middle one of some pages takes. */
async function readPages({ admin, id }: Endpoint): Promise<number> {
  const each: number[] = [];
  while (each.length < PAGES) {
    const begunAt = performance.now();
    await admin.read(`/${id}/deliveries`);
    each.push(performance.now() - begunAt);
  }
  return quantile(each, 0.5);
}
