import { setTimeout as sleep } from "node:timers/promises";
import { memorySettings } from "@herald/common/config/common-settings";
import { memoryBounds } from "@herald/common/service/memory";
import type { ServiceProcess } from "@herald/e2e/herald/processes";
import { readService } from "@herald/e2e/herald/service-readings";
import { serverCpu } from "../cpu.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type FigureKind, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";

/** Few, and slow: then a dispatcher is limited by its places, and four of them leave room on two cores. */
const ENDPOINTS = 3;
const ANSWER_AFTER_MS = 200;
const MEMORY_MIB = memorySettings.MEMORY_MIB.minimum;
/** Attempts that a dispatcher makes at once with so little memory. */
const PLACES = memoryBounds({ MEMORY_MIB }).deliveries;
const SETTINGS = {
  MEMORY_MIB: String(MEMORY_MIB),
  // Over all dispatchers: four of them fill it.
  ENDPOINT_CONCURRENCY: String(Math.ceil((4 * PLACES) / ENDPOINTS)),
};
const LEAD = 1_000;
const WARM_UP_EVENTS = 4_000;
/** Code that has run a few thousand times costs half of what it did at first. */
const WARM_UP_MS = 3_000;
const SETTLING_MS = 2_000;

const PARTS = { dispatcher: "dispatchers", publisher: "publisher", postgres: "PostgreSQL", rabbitmq: "RabbitMQ" };
type Part = keyof typeof PARTS;

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
    ...Object.fromEntries(Object.entries(PARTS).flatMap(([part, label]) => cpuFigures(part, label))),
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const running = await startHerald(environment, {
      name: "dispatchers",
      endpoints: ENDPOINTS,
      settings: { dispatcher: SETTINGS },
    });
    const { herald, traffic, close } = running;
    const publisher = running.service("publisher");
    const dispatchers = [running.service("dispatcher")];
    progress("Warming up");
    await traffic.emit(WARM_UP_EVENTS);
    await traffic.untilReceived(WARM_UP_EVENTS);

    async function reading() {
      const servers = serverCpu();
      const cpu: Record<Part, number> = {
        dispatcher: await cpuOf(dispatchers),
        publisher: await cpuOf([publisher]),
        ...servers,
      };
      return { at: performance.now(), count: await traffic.received(), cpu };
    }

    /** With so many, once they are at it. */
    async function measure(count: number) {
      if (dispatchers.length < count) {
        while (dispatchers.length < count) dispatchers.push(await herald.start("dispatcher", SETTINGS));
        await traffic.answerAfter(0);
        await sleep(WARM_UP_MS);
        await traffic.answerAfter(ANSWER_AFTER_MS);
      }
      await sleep(SETTLING_MS);
      await traffic.busy();
      const before = await reading();
      await sleep(seconds * 1_000);
      const after = await reading();
      const deliveries = after.count - before.count;
      return {
        perSecond: deliveries / ((after.at - before.at) / 1_000),
        cpu: (part: Part) => ((after.cpu[part] - before.cpu[part]) * 1_000_000) / deliveries,
        busy: await traffic.busy(),
      };
    }

    return {
      conditions: {
        endpoints: ENDPOINTS,
        "places of a dispatcher": PLACES,
        "deliveries an event": 1,
        "receiver answers after": `${ANSWER_AFTER_MS} ms, more or less a half`,
        "so a dispatcher can do at most": `${(PLACES * 1_000) / ANSWER_AFTER_MS}/s`,
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
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
        await traffic.untilReceived(emitted);
        const { different, repeated } = await traffic.arrivals();
        const all = [one, two, four];
        return {
          one: one.perSecond,
          two: two.perSecond,
          four: four.perSecond,
          twoRatio: two.perSecond / one.perSecond,
          fourRatio: four.perSecond / one.perSecond,
          ...Object.fromEntries(
            (Object.keys(PARTS) as Part[]).flatMap((part) => [
              [`${part}One`, one.cpu(part)],
              [`${part}Two`, two.cpu(part)],
              [`${part}Four`, four.cpu(part)],
              [`${part}Ratio`, four.cpu(part) / one.cpu(part)],
            ]),
          ),
          receiverBusy: Math.max(...all.map(({ busy }) => busy.receiver)),
          emitterBusy: Math.max(...all.map(({ busy }) => busy.emitter)),
          lost: emitted - different,
          repeated,
        };
      },
      close,
    };
  },
};

function cpuFigures(part: string, label: string): [string, FigureKind][] {
  return [
    [`${part}One`, { label: `CPU a delivery, ${label}, with one`, unit: "us" }],
    [`${part}Two`, { label: "  with two", unit: "us" }],
    [`${part}Four`, { label: "  with four", unit: "us" }],
    [`${part}Ratio`, { label: "  four to one", unit: "x", bar: { atMost: 1.3 } }],
  ];
}

async function cpuOf(services: readonly ServiceProcess[]): Promise<number> {
  const readings = await Promise.all(services.map(readService));
  return readings.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
}
