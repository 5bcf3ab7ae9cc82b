import { setTimeout as sleep } from "node:timers/promises";
import type { Row } from "../row.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { besideFigures, besideValues, measureSteady } from "../steady-traffic.ts";
import { startTraffic } from "../traffic.ts";
import { forgetDeliveries } from "./stored-backlog.ts";

const PER_SECOND = 50;
const FLOOD = 5_000;
const FLOOD_EVERY_MS = 2_500;

/** What one organization notices of another one that emits thousands of events at once, again and again. */
export const floodRow: Row = {
  name: "flood",
  title: "An organization while another one floods",
  figures: besideFigures("while another one floods", { atMost: 2 }),
  async open(place, { seconds, progress }) {
    const site = await place.openSite("flood");
    const api = await site.start("management-api");
    await site.start("dispatcher");
    await site.start("publisher");
    const traffic = await startTraffic(place, site, { api, endpoints: 1 });
    const flooded = await traffic.addEndpoint("flooded");
    const flooder = await traffic.addEmitter(flooded);
    progress("Warming up");
    await flooder.emit(FLOOD);
    await traffic.untilReceived(FLOOD, flooded);
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, 5));

    async function flood(): Promise<number> {
      const floods = Math.ceil((seconds * 1_000) / FLOOD_EVERY_MS);
      const confirms: Promise<void>[] = [];
      for (let index = 0; index < floods; index++) {
        if (index > 0) await sleep(FLOOD_EVERY_MS);
        confirms.push(flooder.emit(FLOOD));
      }
      await Promise.all(confirms);
      return floods * FLOOD;
    }

    return {
      conditions: {
        "processes of each service": 1,
        "endpoints of each": 1,
        "events a second of the one": PER_SECOND,
        "events at once of the other": FLOOD,
        "at intervals of": `${FLOOD_EVERY_MS} ms`,
        "receiver answers after": "0 ms",
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        const alone = await measureSteady(traffic, { perSecond: PER_SECOND, seconds });
        await traffic.untilReceived(alone.emitted);
        const first = await traffic.arrivals();

        const [beside, flooding] = await Promise.all([
          measureSteady(traffic, { perSecond: PER_SECOND, seconds }),
          flood(),
        ]);
        await traffic.untilReceived(beside.emitted);
        await traffic.untilReceived(flooding, flooded);
        const second = await traffic.arrivals();
        await forgetDeliveries(site);
        const emitted = alone.emitted + beside.emitted + flooding;
        return {
          ...besideValues(alone, beside),
          lost: emitted - first.different - second.different - second.differentOf(flooded),
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
