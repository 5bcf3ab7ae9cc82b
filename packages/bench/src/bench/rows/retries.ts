import type { Row } from "../row.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { besideFigures, besideValues, measureSteady } from "../steady-traffic.ts";
import { type AddedEndpoint, startTraffic } from "../traffic.ts";
import { checkpoint, forgetDeliveries, storeUnfinished } from "./stored-backlog.ts";

const ENDPOINTS = 20;
const PER_SECOND = 200;
/** With ten slots each, and this answer, they get 400 a second: a load that leaves two cores something for the others. */
const RETRYING = 4;
const RETRIES_OF_EACH = 1_250;
const ANSWER_AFTER_MS = 100;

/** What first attempts notice of retries that come due all at once, as a minute after a receiver's outage. */
export const retriesRow: Row = {
  name: "retries",
  title: "First attempts while retries come due",
  figures: {
    ...besideFigures("while retries come due", { atMost: 1.2 }),
    retriesMeanwhile: { label: "retries that arrived meanwhile", unit: "/s", bar: { atLeast: 200 } },
  },
  async open(place, { seconds, progress }) {
    const site = await place.openSite("retries");
    const api = await site.start("management-api");
    await site.start("dispatcher");
    await site.start("publisher");
    const traffic = await startTraffic(place, site, { api, endpoints: ENDPOINTS });
    const retrying: AddedEndpoint[] = [];
    for (let index = 0; index < RETRYING; index++) {
      const endpoint = await traffic.addEndpoint(`retrying-${index}`);
      retrying.push(endpoint);
    }
    progress("Warming up");
    await traffic.untilReceived(await traffic.emitEvenly(PER_SECOND, 5));
    return {
      conditions: {
        "processes of each service": 1,
        endpoints: ENDPOINTS,
        "events a second, of all": PER_SECOND,
        "receiver answers after": "0 ms",
        "other endpoints with retries": RETRYING,
        "retries of each, due at once": RETRIES_OF_EACH,
        "which answer after": `${ANSWER_AFTER_MS} ms, more or less a half`,
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        await checkpoint(site);
        const alone = await measureSteady(traffic, { perSecond: PER_SECOND, seconds });
        await traffic.untilReceived(alone.emitted);
        const first = await traffic.arrivals();

        for (const endpoint of retrying) await endpoint.answer({ afterMs: ANSWER_AFTER_MS });
        const [beside] = await Promise.all([
          measureSteady(traffic, { perSecond: PER_SECOND, seconds }),
          storeUnfinished(site, {
            endpointIds: retrying.map(({ id }) => id),
            deliveries: RETRIES_OF_EACH,
            kind: "failed",
          }),
        ]);
        const soFar = await traffic.arrivals();
        for (const endpoint of retrying) await endpoint.answer({ afterMs: 0 });
        const arrived = (at: typeof soFar) => retrying.reduce((sum, endpoint) => sum + at.differentOf(endpoint), 0);
        await traffic.untilReceived(beside.emitted);
        for (const endpoint of retrying) await traffic.untilReceived(RETRIES_OF_EACH, endpoint);
        const second = await traffic.arrivals();
        await forgetDeliveries(site);
        const emitted = alone.emitted + beside.emitted + RETRYING * RETRIES_OF_EACH;
        return {
          ...besideValues(alone, beside),
          retriesMeanwhile: arrived(soFar) / seconds,
          lost: emitted - first.different - second.different - arrived(second),
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
