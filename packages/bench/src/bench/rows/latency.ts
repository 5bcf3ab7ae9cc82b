import { diskFlushMs } from "../disk-flush.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { quantile } from "../statistics.ts";
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
    flush: { label: "one flush of the disk, half within", unit: "ms" },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const { traffic, close } = await startHerald(environment, { name: "latency", endpoints: ENDPOINTS });
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
        const { emitted, busy } = await measureSteady(traffic, { perSecond: PER_SECOND, seconds });
        await traffic.untilReceived(emitted);
        const { different, repeated, delays } = await traffic.arrivals();
        return {
          flush,
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
