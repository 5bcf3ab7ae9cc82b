import { quantile } from "@herald/e2e/statistics";
import { BENCH_LOAD, EXACTLY_ONCE, type FigureKind, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { measureSteady } from "../steady-traffic.ts";

const ENDPOINTS = 20;
const WARM_UP_SECONDS = 5;
const RATES = [50, 100, 200, 400, 800] as const;

/** How long an event is on its way at growing loads. */
export const ratesRow: Row = {
  name: "rates",
  title: "From the emitter to the receiver, by load",
  figures: {
    ...Object.fromEntries(RATES.flatMap(figuresOf)),
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  compared: Object.fromEntries(RATES.flatMap((rate) => figuresOf(rate).map(([name]) => [name, "shown"]))),
  async open(environment, { seconds, progress }) {
    const { traffic, close } = await startHerald(environment, { name: "rates", endpoints: ENDPOINTS });
    progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(RATES[2], WARM_UP_SECONDS));
    return {
      conditions: {
        "processes of each service": 1,
        endpoints: ENDPOINTS,
        "receiver answers after": "0 ms",
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        const measured: Record<string, number> = { receiverBusy: 0, emitterBusy: 0, lost: 0, repeated: 0 };
        const add = (name: string, value: number) => {
          measured[name] = (measured[name] ?? 0) + value;
        };
        for (const perSecond of RATES) {
          const { emitted, busy } = await measureSteady(traffic, { perSecond, seconds });
          await traffic.untilReceived(emitted);
          const { different, repeated, delays } = await traffic.arrivals();
          for (const share of [50, 95]) add(`p${share}At${perSecond}`, quantile(delays, share / 100));
          add("lost", emitted - different);
          add("repeated", repeated);
          measured.receiverBusy = Math.max(measured.receiverBusy ?? 0, busy.receiver);
          measured.emitterBusy = Math.max(measured.emitterBusy ?? 0, busy.emitter);
        }
        return measured;
      },
      close,
    };
  },
};

function figuresOf(perSecond: number): [string, FigureKind][] {
  return [
    [`p50At${perSecond}`, { label: `at ${perSecond}/s, half within`, unit: "ms" }],
    [`p95At${perSecond}`, { label: "  95 % within", unit: "ms" }],
  ];
}
