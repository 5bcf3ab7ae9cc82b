import { names } from "@herald/common/broker/topology";
import { readService } from "@herald/e2e/herald/service-readings";
import { quantile } from "@herald/e2e/statistics";
import type { BenchHerald } from "../environment.ts";
import { onChannel } from "../on-channel.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { measureSteady } from "../steady-traffic.ts";

const ENDPOINTS = 20;
const PER_SECOND = 200;
const WARM_UP_SECONDS = 5;
/** Of a consumer. All dispatchers have 0, and get nothing while one with more takes everything. */
const PRIORITY = 10;

/** How late deliveries are whose hints are lost, all of them: the look for what is due has to find each one. */
export const purgedRow: Row = {
  name: "purged",
  title: "From the emitter to the receiver without hints",
  figures: {
    longest: { label: "longest way of an event while all hints are purged", unit: "ms", bar: { atMost: 3_000 } },
    p95: { label: "  95 % within", unit: "ms" },
    p50: { label: "  half within", unit: "ms" },
    purged: { label: "hints that were purged, of those sent", unit: "%", bar: { atLeast: 99 } },
    hintedP50: { label: "with hints, half within", unit: "ms" },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  compared: { longest: "shown" },
  async open(environment, { seconds, progress }) {
    const { herald, traffic, service, close } = await startHerald(environment, {
      name: "purged",
      endpoints: ENDPOINTS,
    });
    const publisher = service("publisher");
    const hintsSent = async () => (await readService(publisher)).counter("herald_hints_total", 'result="sent"');

    async function measure() {
      const { emitted, busy } = await measureSteady(traffic, { perSecond: PER_SECOND, seconds });
      await traffic.untilReceived(emitted);
      return { emitted, busy, ...(await traffic.arrivals()) };
    }

    progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, WARM_UP_SECONDS));
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
        const hinted = await measure();
        const sentBefore = await hintsSent();
        const { result: bare, purged } = await purgingHints(herald, measure);
        const both = [hinted, bare];
        return {
          longest: Math.max(...bare.delays),
          p95: quantile(bare.delays, 0.95),
          p50: quantile(bare.delays, 0.5),
          purged: (100 * purged) / ((await hintsSent()) - sentBefore),
          hintedP50: quantile(hinted.delays, 0.5),
          receiverBusy: Math.max(...both.map(({ busy }) => busy.receiver)),
          emitterBusy: Math.max(...both.map(({ busy }) => busy.emitter)),
          lost: both.reduce((sum, { emitted, different }) => sum + emitted - different, 0),
          repeated: both.reduce((sum, { repeated }) => sum + repeated, 0),
        };
      },
      close,
    };
  },
};

/**
 * Runs a task while hints go nowhere. A purge, however often, finds only hints that wait in the queue, and an idle dispatcher
 * lets none wait. So they are taken away by a consumer that comes before all others.
 */
function purgingHints<T>(herald: BenchHerald, task: () => Promise<T>): Promise<{ result: T; purged: number }> {
  return onChannel(herald, async (channel) => {
    let purged = 0;
    const take = () => {
      purged += 1;
    };
    await channel.consume(names(herald.namespace).hintsQueue, take, { noAck: true, priority: PRIORITY });
    return { result: await task(), purged };
  });
}
