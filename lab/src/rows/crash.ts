import { setTimeout as sleep } from "node:timers/promises";
import { sharedNow } from "../processes/busy.ts";
import { type Row, SAMPLE_BODY } from "../row.ts";
import { startHerald } from "../running-herald.ts";

/** With ten attempts each at once they have all the interrupted deliveries in flight at once. */
const ENDPOINTS = 50;
const INTERRUPTED = 500;
const PER_SECOND = 200;
const WARM_UP_SECONDS = 5;
/** Longer than it takes to kill a dispatcher that has all of them in flight. */
const HANGING_MS = 14_000;
const IN_FLIGHT_MS = 3_000;
const ANSWER_AFTER_MS = 50;
const ENDS_WITHIN_MS = 300_000;
/** From the kill to the end of the traffic beside it: longer than the killed one's endpoints wait for another. */
const AFTER_KILL_SECONDS = 15;

/** How long deliveries wait when a dispatcher is killed: where another one is there, and where it starts again alone. */
export const crashRow: Row = {
  name: "crash",
  title: "A dispatcher is killed",
  figures: {
    served: {
      label: "beside another one: the longest way of an event from then on",
      unit: "ms",
      bar: { atMost: 8_000 },
    },
    alone: { label: "alone and started again: from its process's start to its first attempt", unit: "ms" },
    interrupted: {
      label: `  to the last of ${INTERRUPTED} interrupted deliveries`,
      unit: "ms",
      bar: { atMost: 10_000 },
    },
    lost: { label: "events that never arrived", unit: "", bar: { atMost: 0 } },
  },
  compared: { served: "shown", alone: "shown", interrupted: "shown" },
  async open(environment, { progress }) {
    const running = await startHerald(environment, { name: "crash", endpoints: ENDPOINTS });
    const { herald, traffic } = running;
    let dispatcher = running.service("dispatcher");
    const fresh = await traffic.addEndpoint("fresh");
    const freshEmitter = await traffic.addEmitter(fresh);
    progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, WARM_UP_SECONDS));

    /** Requests are more than deliveries, where some come twice. */
    async function untilDifferent(count: number): Promise<void> {
      const deadline = performance.now() + ENDS_WITHIN_MS;
      while ((await traffic.arrivals()).different < count && performance.now() < deadline) await sleep(50);
    }

    /** One of two is killed. */
    async function beside() {
      const other = await herald.start("dispatcher");
      // Both know of each other when events have gone through both.
      await traffic.reset();
      await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, WARM_UP_SECONDS));
      await traffic.reset();
      const emitting = traffic.emitEvenly(PER_SECOND, 1 + AFTER_KILL_SECONDS);
      await sleep(1_000);
      await dispatcher.kill();
      const killedAt = sharedNow();
      const emitted = await emitting;
      await untilDifferent(emitted);
      const { different, delays, plannedAt } = await traffic.arrivals();
      dispatcher = other;
      return {
        served: Math.max(...delays.filter((_, index) => (plannedAt[index] as number) >= killedAt)),
        lost: emitted - different,
      };
    }

    /** The only one is killed with all of these in flight. */
    async function alone() {
      await traffic.answerAfter(HANGING_MS);
      await traffic.emit(INTERRUPTED);
      await sleep(IN_FLIGHT_MS);
      await dispatcher.kill();
      await traffic.answerAfter(ANSWER_AFTER_MS);
      await traffic.reset();
      await freshEmitter.emit(1);
      const startedAt = performance.now();
      dispatcher = await herald.start("dispatcher");
      await traffic.untilReceived(1, fresh);
      const begunAt = performance.now();
      await untilDifferent(INTERRUPTED);
      const endedAt = performance.now();
      await traffic.answerAfter(0);
      const { different } = await traffic.arrivals();
      return { alone: begunAt - startedAt, interrupted: endedAt - startedAt, lost: INTERRUPTED - different };
    }

    return {
      conditions: `${ENDPOINTS} endpoints, ${PER_SECOND} events a second beside the kill; receivers of the interrupted ones answer after ${ANSWER_AFTER_MS} ms, more or less a half; bodies of ${SAMPLE_BODY.length} bytes`,
      async round() {
        const ofBeside = await beside();
        const ofAlone = await alone();
        return { ...ofBeside, ...ofAlone, lost: ofBeside.lost + ofAlone.lost };
      },
      close: running.close,
    };
  },
};
