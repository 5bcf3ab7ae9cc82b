import { besideRow } from "../beside-row.ts";
import type { AddedEndpoint } from "../traffic.ts";
import { checkpoint, forgetDeliveries, storeUnfinished } from "./stored-backlog.ts";

/** With ten slots each, and this answer, they get 400 a second: a load that leaves two cores something for the others. */
const RETRYING = 4;
const RETRIES_OF_EACH = 1_250;
const ANSWER_AFTER_MS = 100;

/** What first attempts notice of retries that come due all at once, as a minute after a receiver's outage. */
export const retriesRow = besideRow({
  name: "retries",
  title: "First attempts while retries come due",
  beside: "while retries come due",
  atMost: 1.2,
  endpoints: 20,
  perSecond: 200,
  figures: { retriesMeanwhile: { label: "retries that arrived meanwhile", unit: "/s", bar: { atLeast: 200 } } },
  conditions: {
    "other endpoints with retries": RETRYING,
    "retries of each, due at once": RETRIES_OF_EACH,
    "which answer after": `${ANSWER_AFTER_MS} ms, more or less a half`,
  },
  async prepare({ herald, traffic }, { seconds }) {
    const retrying: AddedEndpoint[] = [];
    for (let index = 0; index < RETRYING; index++) retrying.push(await traffic.addEndpoint(`retrying-${index}`));
    return {
      before: () => checkpoint(herald),
      async disturb(measure) {
        for (const endpoint of retrying) await endpoint.answer({ afterMs: ANSWER_AFTER_MS });
        const [steady] = await Promise.all([
          measure(),
          storeUnfinished(herald, {
            endpointIds: retrying.map(({ id }) => id),
            deliveries: RETRIES_OF_EACH,
            kind: "failed",
          }),
        ]);
        const soFar = await traffic.arrivals();
        for (const endpoint of retrying) await endpoint.answer({ afterMs: 0 });
        await traffic.untilReceived(steady.emitted);
        for (const endpoint of retrying) await traffic.untilReceived(RETRIES_OF_EACH, endpoint);
        const atEnd = await traffic.arrivals();
        await forgetDeliveries(herald);
        const retriesIn = (at: typeof soFar) => retrying.reduce((sum, endpoint) => sum + at.differentOf(endpoint), 0);
        return {
          steady,
          lost: steady.emitted + RETRYING * RETRIES_OF_EACH - atEnd.different - retriesIn(atEnd),
          repeated: atEnd.repeated,
          figures: { retriesMeanwhile: retriesIn(soFar) / seconds },
        };
      },
    };
  },
});
