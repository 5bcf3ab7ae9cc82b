import { setTimeout as sleep } from "node:timers/promises";
import { readService } from "@herald/e2e/herald/service-readings";
import { BENCH_LOAD, EXACTLY_ONCE, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { forgetDeliveries } from "./stored-backlog.ts";

const DISPATCHERS = 4;
/** Besides the flaky one. */
const ENDPOINTS = 19;
/** Slow answers and few slots: then what counts is how soon a slot is free again, and two cores have room for all. */
const ANSWER_AFTER_MS = 200;
/** Over all dispatchers: two for each of them. */
const ENDPOINT_CONCURRENCY = 2 * DISPATCHERS;
const SLOTS = ENDPOINTS * ENDPOINT_CONCURRENCY;
const LEAD = 1_000;
const WARM_UP_EVENTS = 4_000;
const SETTLING_MS = 2_000;
const SHARE_EVERY_MS = 20;

const SETTINGS = {
  ENDPOINT_CONCURRENCY: String(ENDPOINT_CONCURRENCY),
  // Failures must not disable the flaky one, by whatever chance they follow one another, and come again only after the measurement.
  DISABLE_AFTER_FAILURES: "1000",
  RETRY_DELAYS_SECONDS: "3600,3600,3600,3600",
};

/** Whether several dispatchers, which all have to write down the health of one endpoint, deliver less to the others. */
export const flakyRow: Row = {
  name: "flaky",
  title: "Four dispatchers beside an endpoint that fails half of its attempts",
  figures: {
    healthy: { label: "deliveries to the others, while it answers well", unit: "/s" },
    flaky: { label: "  while it fails half of its attempts", unit: "/s" },
    ratio: { label: "  the one to the other", unit: "x", bar: { atLeast: 0.95 } },
    failures: { label: "attempts that failed meanwhile", unit: "/s", bar: { atLeast: 1 } },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  compared: { ratio: "shown" },
  async open(environment, { seconds, progress }) {
    const settings = { dispatcher: SETTINGS };
    const running = await startHerald(environment, { name: "flaky", endpoints: ENDPOINTS, settings });
    const { herald, traffic, close } = running;
    const dispatchers = [running.service("dispatcher")];
    while (dispatchers.length < DISPATCHERS) dispatchers.push(await herald.start("dispatcher", SETTINGS));
    const flaky = await traffic.addEndpoint("flaky");
    const emitter = await traffic.addEmitter(flaky);
    progress("Warming up");
    await traffic.emit(WARM_UP_EVENTS);
    await traffic.untilReceived(WARM_UP_EVENTS);
    await traffic.answerAfter(ANSWER_AFTER_MS);

    /** Emits as many events for the flaky endpoint as each of the others gets, and as far ahead. */
    async function feedFlaky(end: AbortSignal): Promise<void> {
      let emitted = 0;
      while (!end.aborted) {
        const missing = Math.floor(((await traffic.received()) + LEAD) / ENDPOINTS) - emitted;
        if (missing > 0) await emitter.emit(missing);
        emitted += Math.max(missing, 0);
        await sleep(SHARE_EVERY_MS);
      }
    }

    async function reading() {
      const readings = await Promise.all(dispatchers.map(readService));
      const failed = readings.map(({ counter }) => counter("herald_attempts_total", 'outcome="failed"'));
      return {
        at: performance.now(),
        count: await traffic.received(),
        failed: failed.reduce((sum, each) => sum + each, 0),
      };
    }

    async function measure(failsHalf: boolean) {
      await flaky.answer({ afterMs: ANSWER_AFTER_MS, failsHalf });
      await sleep(SETTLING_MS);
      await traffic.busy();
      const before = await reading();
      await sleep(seconds * 1_000);
      const after = await reading();
      const each = (count: number) => count / ((after.at - before.at) / 1_000);
      return {
        perSecond: each(after.count - before.count),
        failures: each(after.failed - before.failed),
        busy: await traffic.busy(),
      };
    }

    return {
      conditions: {
        dispatchers: DISPATCHERS,
        "other endpoints": ENDPOINTS,
        "deliveries an event": 1,
        "slots for them": SLOTS,
        "receiver answers after": `${ANSWER_AFTER_MS} ms, more or less a half`,
        "so they can get at most": `${(SLOTS * 1_000) / ANSWER_AFTER_MS}/s`,
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        await traffic.reset();
        const end = new AbortController();
        const feeding = Promise.all([traffic.feed(end.signal, LEAD), feedFlaky(end.signal)]);
        // Before and behind, since processes get faster as they run.
        const before = await measure(false);
        const half = await measure(true);
        const behind = await measure(false);
        end.abort();
        const [emitted] = await feeding;
        await traffic.untilReceived(emitted);
        const { different, repeated } = await traffic.arrivals();
        await forgetDeliveries(herald);
        const healthy = (before.perSecond + behind.perSecond) / 2;
        const busy = [before, half, behind].map((each) => each.busy);
        return {
          healthy,
          flaky: half.perSecond,
          ratio: half.perSecond / healthy,
          failures: half.failures,
          receiverBusy: Math.max(...busy.map(({ receiver }) => receiver)),
          emitterBusy: Math.max(...busy.map(({ emitter }) => emitter)),
          lost: emitted - different,
          repeated,
        };
      },
      close,
    };
  },
};
