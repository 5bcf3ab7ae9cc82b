import { readService } from "@herald/e2e/herald/service-readings";
import { quantile } from "@herald/e2e/statistics";
import { serverCpu } from "../cpu.ts";
import { diskFlushMs } from "../disk-flush.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { measureSteady } from "../steady-traffic.ts";

const ENDPOINTS = 20;
const PER_SECOND = 200;
const WARM_UP_SECONDS = 5;

/** How long an event is on its way at a middling load, when nothing has to wait for anything. */
export const latencyRow: Row = {
  name: "latency",
  title: "From the emitter to the receiver",
  figures: {
    p50: { label: "half of the events within", unit: "ms" },
    p95: { label: "95 % within", unit: "ms" },
    p99: { label: "99 % within", unit: "ms" },
    cpu: { label: "CPU an event, of all processes", unit: "us" },
    dispatcherCpu: { label: "  of the dispatcher", unit: "us" },
    publisherCpu: { label: "  of the publisher", unit: "us" },
    postgresCpu: { label: "  of PostgreSQL", unit: "us" },
    rabbitmqCpu: { label: "  of RabbitMQ", unit: "us" },
    flush: { label: "one flush of the disk, half within", unit: "ms" },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  compared: {
    p50: { atMost: 0.55 },
    p95: { atMost: 0.55 },
    p99: "shown",
    cpu: { atMost: 0.7 },
    dispatcherCpu: "shown",
    publisherCpu: "shown",
    postgresCpu: { atMost: 0.35 },
    rabbitmqCpu: "shown",
  },
  async open(environment, { seconds, progress }) {
    const running = await startHerald(environment, { name: "latency", endpoints: ENDPOINTS });
    const { traffic, close } = running;
    const [dispatcher, publisher] = [running.service("dispatcher"), running.service("publisher")];
    /** In seconds so far. */
    async function cpu(): Promise<Record<"dispatcher" | "publisher" | "postgres" | "rabbitmq", number>> {
      const [ofDispatcher, ofPublisher] = [await readService(dispatcher), await readService(publisher)];
      return { dispatcher: ofDispatcher.cpuSeconds, publisher: ofPublisher.cpuSeconds, ...serverCpu() };
    }
    progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, Math.min(WARM_UP_SECONDS, seconds)));
    return {
      conditions: {
        "processes of each service": 1,
        endpoints: ENDPOINTS,
        "events a second": PER_SECOND,
        "receiver answers after": "0 ms",
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        const flush = await diskFlushMs();
        const cpuBefore = await cpu();
        const { emitted, busy } = await measureSteady(traffic, { perSecond: PER_SECOND, seconds });
        await traffic.untilReceived(emitted);
        const cpuAfter = await cpu();
        const { different, repeated, delays } = await traffic.arrivals();
        const each = (part: keyof typeof cpuAfter) => ((cpuAfter[part] - cpuBefore[part]) * 1_000_000) / emitted;
        return {
          flush,
          cpu: each("dispatcher") + each("publisher") + each("postgres") + each("rabbitmq"),
          dispatcherCpu: each("dispatcher"),
          publisherCpu: each("publisher"),
          postgresCpu: each("postgres"),
          rabbitmqCpu: each("rabbitmq"),
          p50: quantile(delays, 0.5),
          p95: quantile(delays, 0.95),
          p99: quantile(delays, 0.99),
          receiverBusy: busy.receiver,
          emitterBusy: busy.emitter,
          lost: emitted - different,
          repeated,
        };
      },
      close,
    };
  },
};
