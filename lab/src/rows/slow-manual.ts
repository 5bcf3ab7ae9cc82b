import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "@herald/e2e/statistics";
import { addManualEndpoints, deliverManually, floodManually } from "../manual-traffic.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { measureSteady } from "../steady-traffic.ts";
import { addCrowd, CROWD_CONDITIONS, CROWD_SETTINGS, SLOW_ANSWER } from "./crowd.ts";

const PER_SECOND = 50;
const OPEN = 60;
const FILLING_MS = 2_500;
const WARM_UP_SECONDS = 5;
/** What is slow must still be at it when the measurement ends. */
const MAX_SECONDS = 8;

/** What an organization's events and manual deliveries take beside others that are slow in both ways. */
export const slowManualRow: Row = {
  name: "slow-manual",
  title: "Events and manual deliveries beside a hundred slow endpoints, and one that hangs in manual deliveries",
  figures: {
    aloneP95: { label: "events, 95 % within, alone", unit: "ms" },
    besideP95: { label: "  beside the slow ones", unit: "ms" },
    ratio: { label: "  the one to the other", unit: "x", bar: { atMost: 1.2 } },
    manualAloneP95: { label: "manual deliveries, 95 % within, alone", unit: "ms" },
    manualBesideP95: { label: "  beside the slow ones", unit: "ms" },
    manualRatio: { label: "  the one to the other", unit: "x", bar: { atMost: 2 } },
    failed: { label: "manual deliveries that did not succeed at once", unit: "", bar: { atMost: 0 } },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  compared: { ratio: "shown", manualRatio: "shown" },
  async open(environment, options) {
    const seconds = Math.min(options.seconds, MAX_SECONDS);
    const settings = CROWD_SETTINGS;
    const running = await startHerald(environment, { name: "slow-manual", endpoints: 1, settings });
    const { traffic, close } = running;
    const crowd = await addCrowd(running);
    const endpoints = await addManualEndpoints(traffic);
    let organizations = 0;

    /** Both kinds at the same time. */
    async function measure() {
      const [steady, manual] = await Promise.all([
        measureSteady(traffic, { perSecond: PER_SECOND, seconds }),
        deliverManually(endpoints, seconds),
      ]);
      return { steady, manual };
    }

    options.progress("Warming up");
    const delivering = deliverManually(endpoints, WARM_UP_SECONDS);
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, WARM_UP_SECONDS));
    await delivering;
    return {
      conditions: {
        "events a second": PER_SECOND,
        ...CROWD_CONDITIONS,
        "manual deliveries that a third organization keeps open, as far as the API lets it": OPEN,
        "which are answered after exactly": `${SLOW_ANSWER.afterMs / 1_000} s`,
        "receiver answers after": "0 ms",
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        const alone = await measure();
        await traffic.untilReceived(alone.steady.emitted);
        const first = await traffic.arrivals();
        await crowd.begin();
        // Of an organization that has made none in this minute.
        const hanging = await traffic.addEndpoint(`hanging-${organizations++}`);
        await hanging.answer(SLOW_ANSWER);
        const end = new AbortController();
        const flooding = floodManually(hanging, OPEN, end.signal);
        await sleep(FILLING_MS);
        const beside = await measure();
        await traffic.untilReceived(beside.steady.emitted);
        const { different, repeated, delays } = await traffic.arrivals();
        end.abort();
        await hanging.answer({ afterMs: 0 });
        await flooding;
        await crowd.end();
        const p95 = (values: readonly number[]) => quantile(values, 0.95);
        const [aloneP95, besideP95] = [p95(alone.steady.delays), p95(delays)];
        const [manualAloneP95, manualBesideP95] = [p95(alone.manual.times), p95(beside.manual.times)];
        return {
          aloneP95,
          besideP95,
          ratio: besideP95 / aloneP95,
          manualAloneP95,
          manualBesideP95,
          manualRatio: manualBesideP95 / manualAloneP95,
          failed: alone.manual.failed + beside.manual.failed,
          receiverBusy: Math.max(alone.steady.busy.receiver, beside.steady.busy.receiver),
          emitterBusy: Math.max(alone.steady.busy.emitter, beside.steady.busy.emitter),
          lost: alone.steady.emitted - first.different + beside.steady.emitted - different,
          repeated: first.repeated + repeated,
        };
      },
      close,
    };
  },
};
