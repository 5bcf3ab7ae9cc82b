import { setTimeout as sleep } from "node:timers/promises";
import { EXACTLY_ONCE, type Row } from "../row.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { quantile } from "../statistics.ts";
import { startTraffic } from "../traffic.ts";

const ENDPOINTS = 20;
const HANGING = [0, 1];
const PER_SECOND = 200;
/** The hanging endpoints have filled their slots by then. */
const FILLING_SECONDS = 2;
/** A hanging attempt may end only when the round does: what times out is attempted again a minute later. */
const MAX_SECONDS = 10;

/** What the healthy endpoints notice of a tenth of all endpoints that don't answer. */
export const fairnessRow: Row = {
  name: "fairness",
  title: "Healthy endpoints while others hang",
  figures: {
    healthyP95: { label: "95 % within, while all are healthy", unit: "ms" },
    hangingP95: { label: "95 % of the healthy ones' within, while 10 % hang", unit: "ms" },
    ratio: { label: "the one to the other", unit: "x", bar: { atMost: 1.2 } },
    healthyP50: { label: "half within, while all are healthy", unit: "ms" },
    hangingP50: { label: "half of the healthy ones' within, while 10 % hang", unit: "ms" },
    ...EXACTLY_ONCE,
  },
  async open(place, options) {
    const seconds = Math.min(options.seconds, MAX_SECONDS);
    const site = await place.openSite("fairness");
    const api = await site.start("management-api");
    await site.start("dispatcher");
    await site.start("publisher");
    const traffic = await startTraffic(place, site, { api, endpoints: ENDPOINTS });
    options.progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, 5));

    /** Emits for the time that is measured, with what must be awaited before all has arrived in `release`. */
    async function measure(release: () => Promise<void>) {
      await traffic.reset();
      const emitted = await traffic.emitEvenly(PER_SECOND, seconds);
      // Before those arrive that hung, which are nobody's latency.
      await sleep(500);
      const { delays } = await traffic.arrivals();
      await release();
      return { emitted, delays };
    }

    return {
      conditions: {
        endpoints: ENDPOINTS,
        "of them hang": HANGING.length,
        "events a second, of all": PER_SECOND,
        "receiver answers after": "0 ms",
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        const healthy = await measure(async () => {});
        await traffic.untilReceived(healthy.emitted);
        const first = await traffic.arrivals();

        await traffic.hang(HANGING);
        await traffic.reset();
        const filling = await traffic.emitEvenly(PER_SECOND, FILLING_SECONDS);
        await sleep(500);
        const healthyOfFilling = await traffic.received();
        const hanging = await measure(() => traffic.hang([]));
        await traffic.untilReceived(hanging.emitted + filling - healthyOfFilling);
        const second = await traffic.arrivals();
        const [healthyP95, hangingP95] = [quantile(healthy.delays, 0.95), quantile(hanging.delays, 0.95)];
        return {
          healthyP95,
          hangingP95,
          ratio: hangingP95 / healthyP95,
          healthyP50: quantile(healthy.delays, 0.5),
          hangingP50: quantile(hanging.delays, 0.5),
          lost: healthy.emitted - first.different + (hanging.emitted + filling - healthyOfFilling - second.different),
          repeated: first.repeated + second.repeated,
        };
      },
      async close() {
        await traffic.close();
        await site.close();
      },
    };
  },
};
