import { readService } from "@herald/e2e/herald/readings";
import { cpuSoFar, measureFullSpeed, postgresWork, untilArrived, warmUp, worstToMiddle } from "../measuring.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row, SAMPLE_BODY } from "../row.ts";
import { startHerald } from "../running-herald.ts";

const ENDPOINTS = 20;

/** Deliveries of one dispatcher while there is always more to deliver, and everything else works on the same cores. */
export const deliveriesRow: Row = {
  name: "deliveries",
  title: "Sustained deliveries of one dispatcher",
  figures: {
    perSecond: { label: "deliveries", unit: "/s" },
    dispatcherCpu: { label: "CPU a delivery, dispatcher", unit: "us" },
    publisherCpu: { label: "CPU a delivery, publisher", unit: "us" },
    postgresCpu: { label: "CPU a delivery, PostgreSQL", unit: "us" },
    rabbitmqCpu: { label: "CPU a delivery, RabbitMQ", unit: "us" },
    handedOver: { label: "hand-overs a delivery", unit: "", bar: { atMost: 1.1 } },
    readShare: { label: "deliveries that were read from PostgreSQL", unit: "%", bar: { atMost: 10 } },
    worstToMiddle: { label: "p95 of the worst organization, to the middle one's", unit: "x", bar: { atMost: 3 } },
    dispatcherMemory: { label: "resident memory, dispatcher", unit: "MiB", bar: { atMost: 130 } },
    publisherMemory: { label: "resident memory, publisher", unit: "MiB", bar: { atMost: 130 } },
    apiMemory: { label: "resident memory, management API", unit: "MiB", bar: { atMost: 130 } },
    wal: { label: "log of PostgreSQL a delivery", unit: "B", bar: { atMost: 1_700 } },
    indexInsertions: { label: "index entries a delivery", unit: "", bar: { atMost: 6 } },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  ratios: { perSecond: { atLeast: 1.3 }, postgresCpu: { atMost: 0.6 } },
  async open(environment, { seconds, progress }) {
    const running = await startHerald(environment, { name: "deliveries", endpoints: ENDPOINTS });
    const { herald, traffic, service } = running;
    progress("Warming up");
    await warmUp(traffic);
    const memoryOf = async (name: Parameters<typeof service>[0]) =>
      (await readService(service(name))).residentMebibytes;
    return {
      conditions: `${ENDPOINTS} endpoints that answer at once, one delivery an event, bodies of ${SAMPLE_BODY.length} bytes, ${seconds} s`,
      async round() {
        const before = await postgresWork(herald.databaseUrl);
        const { perSecond, each, busy, feeding } = await measureFullSpeed(traffic, seconds, async () => {
          const { handedOver, readDeliveries } = await readService(service("dispatcher"));
          const cpu = await cpuSoFar([service("dispatcher")], service("publisher"));
          return { ...cpu, handedOver, readShare: 100 * readDeliveries };
        });
        const memory = {
          dispatcherMemory: await memoryOf("dispatcher"),
          publisherMemory: await memoryOf("publisher"),
          apiMemory: await memoryOf("management-api"),
        };
        const emitted = await feeding;
        const { lost, repeated, ...arrived } = await untilArrived(traffic, emitted);
        const after = await postgresWork(herald.databaseUrl);
        const work = (name: keyof typeof after) => (after[name] - before[name]) / emitted;
        return {
          perSecond,
          ...each,
          worstToMiddle: worstToMiddle(arrived),
          ...memory,
          wal: work("walBytes"),
          // To a tenth: an endpoint's rows, which come once, are no part of a delivery.
          indexInsertions: Math.round(work("indexInsertions") * 10) / 10,
          ...busy,
          lost,
          repeated,
        };
      },
      close: running.close,
    };
  },
};
