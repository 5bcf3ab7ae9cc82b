import { setTimeout as sleep } from "node:timers/promises";
import { BENCH_LOAD, EXACTLY_ONCE, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { addCrowd, CROWD_CONDITIONS, CROWD_SETTINGS } from "./crowd.ts";

/** So the quick one is limited by its own slots, and not by what is left of two cores. */
const QUICK_ANSWERS_AFTER_MS = 10;
const LEAD = 2_000;
const WARM_UP_EVENTS = 4_000;
const SETTLING_MS = 2_000;

/** What a quick endpoint, which always has a backlog, gets beside thousands of slow ones, each of an organization of its own. */
export const slowCrowdRow: Row = {
  name: "slow-crowd",
  title: "A quick endpoint beside 2,500 organizations with a slow one each",
  figures: {
    alone: { label: "deliveries to the quick one, alone", unit: "/s" },
    beside: { label: "  beside the slow ones", unit: "/s" },
    ratio: { label: "  the one to the other", unit: "x", bar: { atLeast: 0.45 } },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  compared: { ratio: "shown" },
  async open(environment, { seconds, progress }) {
    const settings = CROWD_SETTINGS;
    const running = await startHerald(environment, { name: "slow-crowd", endpoints: 1, settings });
    const { traffic } = running;
    const crowd = await addCrowd(running);
    progress("Warming up");
    await traffic.emit(WARM_UP_EVENTS);
    await traffic.untilReceived(WARM_UP_EVENTS);

    async function measure() {
      await traffic.busy();
      const [before, from] = [await traffic.received(), performance.now()];
      await sleep(seconds * 1_000);
      const [after, until] = [await traffic.received(), performance.now()];
      return { perSecond: (after - before) / ((until - from) / 1_000), busy: await traffic.busy() };
    }

    return {
      conditions: {
        "quick endpoint answers after": `${QUICK_ANSWERS_AFTER_MS} ms, more or less a half`,
        "events ahead of it": LEAD,
        ...CROWD_CONDITIONS,
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        await traffic.reset();
        await traffic.answerAfter(QUICK_ANSWERS_AFTER_MS);
        const end = new AbortController();
        const feeding = traffic.feed(end.signal, LEAD);
        await sleep(SETTLING_MS);
        const alone = await measure();
        await crowd.begin();
        const beside = await measure();
        end.abort();
        const emitted = await feeding;
        await traffic.answerAfter(0);
        await crowd.end();
        await traffic.untilReceived(emitted);
        const { different, repeated } = await traffic.arrivals();
        return {
          alone: alone.perSecond,
          beside: beside.perSecond,
          ratio: beside.perSecond / alone.perSecond,
          receiverBusy: Math.max(alone.busy.receiver, beside.busy.receiver),
          emitterBusy: Math.max(alone.busy.emitter, beside.busy.emitter),
          lost: emitted - different,
          repeated,
        };
      },
      close: running.close,
    };
  },
};
