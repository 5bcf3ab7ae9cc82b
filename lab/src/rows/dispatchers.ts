import { setTimeout as sleep } from "node:timers/promises";
import { memorySettings } from "@herald/common/config/common-settings";
import { memoryBounds } from "@herald/common/service/memory";
import { cpuSoFar, measureRate, untilArrived } from "../measuring.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row, SAMPLE_BODY, worseOf } from "../row.ts";
import { startHerald } from "../running-herald.ts";

/** So many that each dispatcher owns about as many of them as any other. */
const ENDPOINTS = 1_000;
/** Slow, yet within the second that counts as quick: then a dispatcher is limited by its permits, and four leave room on two cores. */
const ANSWER_AFTER_MS = 800;
const MEMORY_MIB = memorySettings.MEMORY_MIB.minimum;
/** Attempts that a dispatcher makes at once with so little memory. */
const PERMITS = memoryBounds({ MEMORY_MIB }).inFlight;
const SETTINGS = { MEMORY_MIB: String(MEMORY_MIB) };
/** Several times what four of them have in flight. */
const LEAD = 16 * PERMITS;
const WARM_UP_EVENTS = 4_000;
/** Code that has run a few thousand times costs half of what it did at first. */
const WARM_UP_MS = 3_000;
const SETTLING_MS = 2_000;

/** Whether two and four dispatchers deliver twice and four times as much, and what a delivery costs then. */
export const dispatchersRow: Row = {
  name: "dispatchers",
  title: "One dispatcher, two and four",
  figures: {
    one: { label: "deliveries of one", unit: "/s" },
    two: { label: "  of two", unit: "/s" },
    four: { label: "  of four", unit: "/s" },
    twoRatio: { label: "two to one", unit: "x", bar: { atLeast: 1.8 } },
    fourRatio: { label: "four to one", unit: "x", bar: { atLeast: 3.2 } },
    dispatcherRatio: { label: "CPU a delivery, dispatchers, four to one", unit: "x", bar: { atMost: 1.3 } },
    postgresRatio: { label: "CPU a delivery, PostgreSQL, four to one", unit: "x", bar: { atMost: 1.3 } },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const settings = { dispatcher: SETTINGS };
    const running = await startHerald(environment, { name: "dispatchers", endpoints: ENDPOINTS, settings });
    const { herald, traffic, close } = running;
    const dispatchers = [running.service("dispatcher")];
    progress("Warming up");
    await traffic.emit(WARM_UP_EVENTS);
    await traffic.untilReceived(WARM_UP_EVENTS);

    /** With so many, once they are at it. */
    async function measure(count: number) {
      if (dispatchers.length < count) {
        while (dispatchers.length < count) dispatchers.push(await herald.start("dispatcher", SETTINGS));
        await traffic.answerAfter(0);
        await sleep(WARM_UP_MS);
        await traffic.answerAfter(ANSWER_AFTER_MS);
      }
      await sleep(SETTLING_MS);
      return await measureRate(traffic, seconds, () => cpuSoFar(dispatchers, running.service("publisher")));
    }

    return {
      conditions: `${ENDPOINTS} endpoints that answer after ${ANSWER_AFTER_MS} ms, more or less a half, and ${PERMITS} permits of a dispatcher, which can so do ${(PERMITS * 1_000) / ANSWER_AFTER_MS}/s at most; bodies of ${SAMPLE_BODY.length} bytes, ${seconds} s`,
      async round() {
        await traffic.answerAfter(ANSWER_AFTER_MS);
        await traffic.reset();
        const end = new AbortController();
        const feeding = traffic.feed(end.signal, LEAD);
        const [one, two, four] = [await measure(1), await measure(2), await measure(4)];
        end.abort();
        const emitted = await feeding;
        await traffic.answerAfter(0);
        await Promise.all(dispatchers.splice(1).map((dispatcher) => dispatcher.stop()));
        const { lost, repeated } = await untilArrived(traffic, emitted);
        return {
          one: one.perSecond,
          two: two.perSecond,
          four: four.perSecond,
          twoRatio: two.perSecond / one.perSecond,
          fourRatio: four.perSecond / one.perSecond,
          dispatcherRatio: four.each.dispatcherCpu / one.each.dispatcherCpu,
          postgresRatio: four.each.postgresCpu / one.each.postgresCpu,
          ...worseOf([one, two, four].map(({ busy }) => ({ ...busy }))),
          lost,
          repeated,
        };
      },
      close,
    };
  },
};
