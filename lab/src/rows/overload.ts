import { setTimeout as sleep } from "node:timers/promises";
import { measureFullSpeed, measureRate, SETTLING_MS, untilArrived, warmUp } from "../measuring.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row, SAMPLE_BODY, worseOf } from "../row.ts";
import { startHerald } from "../running-herald.ts";

const ENDPOINTS = 20;
/** Events that are emitted, to the deliveries of full speed. */
const LOAD = 1.5;

/** Deliveries while more events come than can be delivered, and when no more come. */
export const overloadRow: Row = {
  name: "overload",
  title: "More events than can be delivered",
  figures: {
    fullSpeed: { label: "deliveries, with 2,000 events ahead", unit: "/s" },
    overload: { label: `  while ${LOAD} times as many events come`, unit: "/s" },
    overloadRatio: { label: "  the one to the other", unit: "x", bar: { atLeast: 0.8 } },
    drain: { label: "  of the backlog, when no more come", unit: "/s" },
    drainRatio: { label: "  to those with 2,000 events ahead", unit: "x", bar: { atLeast: 0.9 } },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const { traffic, close } = await startHerald(environment, { name: "overload", endpoints: ENDPOINTS });
    progress("Warming up");
    await warmUp(traffic);

    async function fullSpeed() {
      const { perSecond, busy, feeding } = await measureFullSpeed(traffic, seconds);
      const { lost, repeated } = await untilArrived(traffic, await feeding);
      return { perSecond, ...busy, lost, repeated };
    }

    async function overload(perSecond: number) {
      await traffic.reset();
      const emitting = traffic.emitEvenly(perSecond, seconds + SETTLING_MS / 1_000);
      await sleep(SETTLING_MS);
      const { perSecond: delivered, busy } = await measureRate(traffic, seconds);
      const emitted = await emitting;
      const [left, since] = [emitted - (await traffic.received()), performance.now()];
      const { lost, repeated } = await untilArrived(traffic, emitted);
      return { delivered, drain: (left * 1_000) / (performance.now() - since), ...busy, lost, repeated };
    }

    return {
      conditions: `${ENDPOINTS} endpoints that answer at once, bodies of ${SAMPLE_BODY.length} bytes, ${seconds} s`,
      async round() {
        const { perSecond, ...full } = await fullSpeed();
        const { delivered, drain, ...over } = await overload(Math.round(perSecond * LOAD));
        return {
          fullSpeed: perSecond,
          overload: delivered,
          overloadRatio: delivered / perSecond,
          drain,
          drainRatio: drain / perSecond,
          ...worseOf([full, over]),
        };
      },
      close,
    };
  },
};
