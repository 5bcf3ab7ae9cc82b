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
    p50: { label: "half of the events within", unit: "ms", bar: { atMost: 4.5 } },
    p95: { label: "95 % within", unit: "ms", bar: { atMost: 12 } },
    p99: { label: "99 % within", unit: "ms", bar: { atMost: 25 } },
    cpu: { label: "CPU an event, of all processes", unit: "us" },
    flush: { label: "one flush of the disk, half within", unit: "ms" },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  compared: { p50: { atMost: 0.4 }, p95: { atMost: 0.4 }, cpu: { atMost: 0.5 } },
  async open(environment, { seconds, progress }) {
    const running = await startHerald(environment, { name: "latency", endpoints: ENDPOINTS });
    const { traffic, close } = running;
    const services = [running.service("dispatcher"), running.service("publisher")];
    /** Of the services and the servers, in seconds so far. */
    async function cpu(): Promise<number> {
      const ofServices = (await Promise.all(services.map(readService))).map(({ cpuSeconds }) => cpuSeconds);
      const { postgres, rabbitmq } = serverCpu();
      return [...ofServices, postgres, rabbitmq].reduce((sum, seconds) => sum + seconds, 0);
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
        return {
          flush,
          cpu: ((cpuAfter - cpuBefore) * 1_000_000) / emitted,
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
