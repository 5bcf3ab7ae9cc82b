import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "@herald/e2e/statistics";
import { routingKey } from "@herald/emitter";
import { besideRow, type Disturbance } from "../beside-row.ts";
import { worstToMiddle } from "../measuring.ts";
import { forgetDeliveries } from "./stored.ts";

const FLOOD = 5_000;
const FLOOD_EVERY_MS = 2_500;

/** An organization emits thousands of events at once, again and again. */
const flood: Disturbance = {
  beside: "in other buckets, while another one floods",
  atMost: { ms: 150 },
  figures: {
    ownP95: { label: "95 % within, in the flooder's bucket", unit: "ms", bar: { atMost: 500 } },
    worstToMiddle: { label: "p95 of the worst organization, to the middle one's", unit: "x", bar: { atMost: 3 } },
  },
  async prepare({ herald, traffic }, { seconds }) {
    const bucket = bucketOf(traffic.organizationIds[0] as string);
    const ownPaths = new Set(
      traffic.organizationIds.flatMap((id, index) => (bucketOf(id) === bucket ? [`/${index}`] : [])),
    );
    const flooded = await traffic.addEndpoint("flooded", organizationOf(bucket));
    const flooder = await traffic.addEmitter(flooded);
    await flooder.emit(FLOOD);
    await traffic.untilReceived(FLOOD, flooded);

    async function emitFloods(): Promise<number> {
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
        const [steady, flooding] = await Promise.all([measure(), emitFloods()]);
        await traffic.untilReceived(steady.emitted);
        await traffic.untilReceived(flooding, flooded);
        // Includes the latest ones, which in the flooder's bucket come behind the flood.
        const { different, differentOf, repeated, delays, paths } = await traffic.arrivals();
        await forgetDeliveries(herald);
        const isOwn = (index: number) => ownPaths.has(paths[index] as string);
        return {
          steady: { ...steady, delays: delays.filter((_, index) => !isOwn(index)) },
          lost: steady.emitted + flooding - different - differentOf(flooded),
          repeated,
          figures: {
            ownP95: quantile(
              delays.filter((_, index) => isOwn(index)),
              0.95,
            ),
            worstToMiddle: worstToMiddle({ delays, paths }),
          },
        };
      },
    };
  },
};

/** Effects of a flood on others: in other buckets, and in its own. */
export const floodRow = besideRow({
  name: "flood",
  title: "Organizations while another one floods",
  conditions: `${FLOOD} events at once of another organization each ${FLOOD_EVERY_MS} ms`,
  disturbances: { flood },
});

/** The id of an organization whose events go through this bucket. */
function organizationOf(bucket: string | undefined): string {
  for (;;) {
    const id = randomUUID();
    if (bucketOf(id) === bucket) return id;
  }
}

function bucketOf(organizationId: string): string | undefined {
  return routingKey({ type: "RiskCreated", organizationId }).split(".")[1];
}
