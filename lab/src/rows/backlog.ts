import { setTimeout as sleep } from "node:timers/promises";
import { besideRow } from "../beside-row.ts";
import { serverCpu } from "../cpu.ts";
import { checkpoint, forgetDeliveries, storeUnfinished } from "./stored-backlog.ts";

const BACKLOG = 100_000;
const ANSWER_AFTER_MS = 100;
/** Of the dispatcher, by default: what one endpoint may have in flight. */
const ENDPOINT_CONCURRENCY = 10;
/** A look for due deliveries comes each second; by then the slots are full. */
const SETTLING_MS = 2_000;

/** What all others notice of one endpoint that has more to get than it can take. */
export const backlogRow = besideRow({
  name: "backlog",
  title: "Endpoints beside one with a large backlog",
  beside: "beside the backlog",
  atMost: 1.2,
  endpoints: 20,
  perSecond: 200,
  figures: {
    backlogRate: { label: "of the backlog meanwhile, of what its slots allow", unit: "x", bar: { atLeast: 0.5 } },
    drainRate: { label: "of the backlog alone, answered at once", unit: "/s" },
    drainCpu: { label: "  CPU of PostgreSQL a delivery", unit: "us" },
  },
  conditions: {
    "due deliveries of one more endpoint": BACKLOG,
    "which answers after": `${ANSWER_AFTER_MS} ms, more or less a half`,
  },
  async prepare({ herald, traffic }, { seconds }) {
    const slow = await traffic.addEndpoint("slow");
    await slow.answer({ afterMs: ANSWER_AFTER_MS });

    async function drain() {
      await slow.answer({ afterMs: 0 });
      await sleep(SETTLING_MS);
      const reading = async () => ({
        at: performance.now(),
        count: await traffic.received(slow),
        cpu: serverCpu().postgres,
      });
      const before = await reading();
      await sleep(seconds * 1_000);
      const after = await reading();
      await slow.answer({ afterMs: ANSWER_AFTER_MS });
      const deliveries = after.count - before.count;
      return {
        drainRate: (deliveries * 1_000) / (after.at - before.at),
        drainCpu: ((after.cpu - before.cpu) * 1_000_000) / deliveries,
      };
    }

    return {
      before: () => checkpoint(herald),
      async disturb(measure) {
        await storeUnfinished(herald, { endpointIds: [slow.id], deliveries: BACKLOG, kind: "new" });
        await checkpoint(herald);
        await sleep(SETTLING_MS);
        const steady = await measure();
        await traffic.untilReceived(steady.emitted);
        const { different, differentOf, repeated } = await traffic.arrivals();
        const drained = await drain();
        await forgetDeliveries(herald);
        const allowed = (ENDPOINT_CONCURRENCY * 1_000 * seconds) / ANSWER_AFTER_MS;
        return {
          steady,
          lost: steady.emitted - different,
          repeated,
          figures: { backlogRate: differentOf(slow) / allowed, ...drained },
        };
      },
    };
  },
});
