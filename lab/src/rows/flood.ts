import { setTimeout as sleep } from "node:timers/promises";
import { besideRow } from "../beside-row.ts";
import { forgetDeliveries } from "./stored-backlog.ts";

const FLOOD = 5_000;
const FLOOD_EVERY_MS = 2_500;

/** What one organization notices of another one that emits thousands of events at once, again and again. */
export const floodRow = besideRow({
  name: "flood",
  title: "An organization while another one floods",
  beside: "while another one floods",
  atMost: 2,
  endpoints: 1,
  perSecond: 50,
  conditions: { "events at once of another organization": FLOOD, "at intervals of": `${FLOOD_EVERY_MS} ms` },
  async prepare({ herald, traffic }, { seconds }) {
    const flooded = await traffic.addEndpoint("flooded");
    const flooder = await traffic.addEmitter(flooded);
    await flooder.emit(FLOOD);
    await traffic.untilReceived(FLOOD, flooded);

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
      async disturb(measure) {
        const [steady, flooding] = await Promise.all([measure(), flood()]);
        await traffic.untilReceived(steady.emitted);
        await traffic.untilReceived(flooding, flooded);
        const { different, differentOf, repeated } = await traffic.arrivals();
        await forgetDeliveries(herald);
        return { steady, lost: steady.emitted + flooding - different - differentOf(flooded), repeated };
      },
    };
  },
});
