import { setTimeout as sleep } from "node:timers/promises";
import type { Row } from "../row.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { besideFigures, besideValues, measureSteady } from "../steady-traffic.ts";
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
  figures: besideFigures("the healthy ones while 10 % hang", { atMost: 1.2 }),
  async open(place, options) {
    const seconds = Math.min(options.seconds, MAX_SECONDS);
    const site = await place.openSite("fairness");
    const api = await site.start("management-api");
    await site.start("dispatcher");
    await site.start("publisher");
    const traffic = await startTraffic(place, site, { api, endpoints: ENDPOINTS });
    options.progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, 5));
    return {
      conditions: {
        "processes of each service": 1,
        endpoints: ENDPOINTS,
        "of them hang": HANGING.length,
        "events a second, of all": PER_SECOND,
        "receiver answers after": "0 ms",
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        const alone = await measureSteady(traffic, { perSecond: PER_SECOND, seconds });
        await traffic.untilReceived(alone.emitted);
        const first = await traffic.arrivals();

        await traffic.hang(HANGING);
        await traffic.reset();
        const filling = await traffic.emitEvenly(PER_SECOND, FILLING_SECONDS);
        await sleep(500);
        const healthyOfFilling = await traffic.received();
        const beside = await measureSteady(traffic, { perSecond: PER_SECOND, seconds });
        await traffic.hang([]);
        const expected = beside.emitted + filling - healthyOfFilling;
        await traffic.untilReceived(expected);
        const second = await traffic.arrivals();
        return {
          ...besideValues(alone, beside),
          lost: alone.emitted - first.different + expected - second.different,
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
