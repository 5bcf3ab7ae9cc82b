import { setTimeout as sleep } from "node:timers/promises";
import type { Row } from "../row.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { besideFigures, besideValues, measureSteady } from "../steady-traffic.ts";
import { startTraffic } from "../traffic.ts";
import { checkpoint, forgetDeliveries, storeUnfinished } from "./stored-backlog.ts";

const ENDPOINTS = 20;
const PER_SECOND = 200;
const BACKLOG = 100_000;
const ANSWER_AFTER_MS = 100;
/** Of the dispatcher, by default: what one endpoint may have in flight. */
const ENDPOINT_CONCURRENCY = 10;
/** A look for due deliveries comes each second; by then the slots are full. */
const SETTLING_MS = 2_000;

/** What all others notice of one endpoint that has more to get than it can take. */
export const backlogRow: Row = {
  name: "backlog",
  title: "Endpoints beside one with a large backlog",
  figures: {
    ...besideFigures("beside the backlog", { atMost: 1.2 }),
    backlogRate: {
      label: "of the backlog meanwhile, of what its slots allow",
      unit: "x",
      bar: { atLeast: 0.5 },
    },
  },
  async open(place, { seconds, progress }) {
    const site = await place.openSite("backlog");
    const api = await site.start("management-api");
    await site.start("dispatcher");
    await site.start("publisher");
    const traffic = await startTraffic(place, site, { api, endpoints: ENDPOINTS });
    const slow = await traffic.addEndpoint("slow");
    await slow.answer({ afterMs: ANSWER_AFTER_MS });
    progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, 5));
    return {
      conditions: {
        "processes of each service": 1,
        endpoints: ENDPOINTS,
        "events a second, of all": PER_SECOND,
        "receiver answers after": "0 ms",
        "due deliveries of one more endpoint": BACKLOG,
        "which answers after": `${ANSWER_AFTER_MS} ms, more or less a half`,
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        await checkpoint(site);
        const alone = await measureSteady(traffic, { perSecond: PER_SECOND, seconds });
        await traffic.untilReceived(alone.emitted);
        const first = await traffic.arrivals();

        await storeUnfinished(site, { endpointIds: [slow.id], deliveries: BACKLOG, kind: "new" });
        await checkpoint(site);
        await sleep(SETTLING_MS);
        const beside = await measureSteady(traffic, { perSecond: PER_SECOND, seconds });
        await traffic.untilReceived(beside.emitted);
        const second = await traffic.arrivals();
        await forgetDeliveries(site);
        const allowed = (ENDPOINT_CONCURRENCY * 1_000 * seconds) / ANSWER_AFTER_MS;
        return {
          ...besideValues(alone, beside),
          backlogRate: second.differentOf(slow) / allowed,
          lost: alone.emitted - first.different + beside.emitted - second.different,
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
