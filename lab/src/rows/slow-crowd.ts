import { setTimeout as sleep } from "node:timers/promises";
import { measureRate, SETTLING_MS, untilArrived, warmUp } from "../measuring.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row, SAMPLE_BODY, worseOf } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import type { AddedEndpoint, Traffic } from "../traffic.ts";
import { untilNothingIsDue } from "./stored.ts";

/** So the quick one is limited by its own concurrency, and not by what is left of two cores. */
const QUICK_ANSWERS_AFTER_MS = 10;
const LEAD = 2_000;

const CROWD = 2_500;
/** Endpoints that are created at once. */
const CREATED_AT_ONCE = 4;
/** Just within the time that an attempt may take by default: it succeeds, and keeps its permit for as long as anything can. */
const SLOW_ANSWER = { afterMs: 14_000, exact: true };
/** An attempt that a busy machine makes longer by a moment must not fail: it would come again in the next round. */
const SETTINGS = { ATTEMPT_TIMEOUT_SECONDS: "19" };
/** The slow ones' events together: more than the dispatcher may have in flight. */
const EVENTS = 5_000;
/** The permits that slow ones may have are taken when nothing has arrived for this long. They can't stay taken for longer than the slow answer takes. */
const QUIET_MS = 1_000;
const FILLING_MS = SLOW_ANSWER.afterMs - 2 * QUIET_MS;

/** Deliveries of a quick endpoint, which always has a backlog, beside thousands of slow ones, each of an organization of its own. */
export const slowCrowdRow: Row = {
  name: "slow-crowd",
  title: "A quick endpoint beside organizations with a slow one each",
  figures: {
    alone: { label: "deliveries to the quick one, alone", unit: "/s" },
    beside: { label: `  beside ${CROWD.toLocaleString("en")} organizations`, unit: "/s" },
    ratio: { label: "  the one to the other", unit: "x", bar: { atLeast: 0.45 } },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const settings = { dispatcher: SETTINGS, "management-api": SETTINGS };
    const { herald, traffic, close } = await startHerald(environment, { name: "slow-crowd", endpoints: 1, settings });
    const crowd = await addCrowd(traffic);
    const emitter = await traffic.addEmitter(...crowd);
    progress("Warming up");
    await warmUp(traffic);

    /** Gives each slow endpoint a backlog; resolves when no more of it is begun. */
    async function fillPermits(): Promise<void> {
      await Promise.all(crowd.map((endpoint) => endpoint.answer(SLOW_ANSWER)));
      await emitter.emit(EVENTS);
      const deadline = performance.now() + FILLING_MS;
      for (let before = -1, now = 0; (now === 0 || now !== before) && performance.now() < deadline; ) {
        before = now;
        await sleep(QUIET_MS);
        now = await traffic.received(...crowd);
      }
    }

    async function round() {
      await traffic.reset();
      await traffic.answerAfter(QUICK_ANSWERS_AFTER_MS);
      const end = new AbortController();
      const feeding = traffic.feed(end.signal, LEAD);
      await sleep(SETTLING_MS);
      const alone = await measureRate(traffic, seconds);
      await fillPermits();
      const beside = await measureRate(traffic, seconds);
      end.abort();
      const emitted = await feeding;
      await traffic.answerAfter(0);
      // The rest is taken at once.
      await Promise.all(crowd.map((endpoint) => endpoint.answer({ afterMs: 0 })));
      await untilNothingIsDue(herald);
      const { lost, repeated } = await untilArrived(traffic, emitted);
      return {
        alone: alone.perSecond,
        beside: beside.perSecond,
        ratio: beside.perSecond / alone.perSecond,
        ...worseOf([{ ...alone.busy }, { ...beside.busy }, { lost, repeated }]),
      };
    }

    return {
      conditions: `the quick endpoint answers after ${QUICK_ANSWERS_AFTER_MS} ms, more or less a half, with ${LEAD} events ahead of it; the others after ${SLOW_ANSWER.afterMs / 1_000} s, with ${EVENTS} deliveries together; bodies of ${SAMPLE_BODY.length} bytes, ${seconds} s`,
      round,
      close,
    };
  },
};

async function addCrowd(traffic: Traffic): Promise<AddedEndpoint[]> {
  const endpoints: AddedEndpoint[] = [];
  while (endpoints.length < CROWD) {
    const names = Array.from({ length: CREATED_AT_ONCE }, (_, index) => `crowd-${endpoints.length + index}`);
    endpoints.push(...(await Promise.all(names.map((name) => traffic.addEndpoint(name)))));
  }
  return endpoints;
}
