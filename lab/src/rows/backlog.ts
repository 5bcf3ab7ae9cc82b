import { setTimeout as sleep } from "node:timers/promises";
import { besideRow, type Disturbance } from "../beside-row.ts";
import { measureRate, serverCpu } from "../measuring.ts";
import type { AddedEndpoint } from "../traffic.ts";
import { checkpoint, forgetDeliveries, storeUnfinished } from "./stored.ts";

const BACKLOG = 100_000;
const ANSWER_AFTER_MS = 100;
/** The dispatcher's default: attempts of one endpoint in flight. */
const ENDPOINT_CONCURRENCY = 10;
/** A sweep comes every two seconds, and its work a moment later. */
const SETTLING_MS = 3_000;

/** One endpoint that has more to get than it can take. */
const backlog: Disturbance = {
  beside: `beside one with a backlog of ${BACKLOG.toLocaleString("en")}`,
  atMost: { times: 1.2 },
  figures: {
    backlogRate: {
      label: "of the backlog meanwhile, of what its concurrency allows",
      unit: "x",
      bar: { atLeast: 0.5 },
    },
    drainRate: { label: "of the backlog alone, answered at once", unit: "/s" },
    drainCpu: { label: "  CPU of PostgreSQL a delivery", unit: "us" },
  },
  async prepare({ herald, traffic }, { seconds }) {
    const slow = await traffic.addEndpoint("slow");
    return {
      before: () => checkpoint(herald),
      async disturb(measure) {
        await slow.answer({ afterMs: ANSWER_AFTER_MS });
        await storeUnfinished(herald, { endpointIds: [slow.id], deliveries: BACKLOG, kind: "new" });
        await checkpoint(herald);
        await sleep(SETTLING_MS);
        const steady = await measure();
        await traffic.untilReceived(steady.emitted);
        const { different, differentOf, repeated } = await traffic.arrivals();
        await slow.answer({ afterMs: 0 });
        await sleep(SETTLING_MS);
        const cpu = async () => ({ cpu: serverCpu().postgres * 1_000_000 });
        const drained = await measureRate(traffic, seconds, cpu, slow);
        await forgetDeliveries(herald);
        const allowed = (ENDPOINT_CONCURRENCY * 1_000 * seconds) / ANSWER_AFTER_MS;
        return {
          steady,
          lost: steady.emitted - different,
          repeated,
          figures: {
            backlogRate: differentOf(slow) / allowed,
            drainRate: drained.perSecond,
            drainCpu: drained.each.cpu,
          },
        };
      },
    };
  },
};

/** With ten attempts each at once, and this answer, they get 400 a second: a load that leaves two cores something for the others. */
const RETRYING = 4;
const RETRIES_OF_EACH = 1_250;

/** Retries that come due all at once, as a minute after a receiver's outage. */
const retries: Disturbance = {
  beside: `while ${(RETRYING * RETRIES_OF_EACH).toLocaleString("en")} retries come due`,
  atMost: { times: 1.2 },
  figures: { retriesMeanwhile: { label: "retries that arrived meanwhile", unit: "/s", bar: { atLeast: 200 } } },
  async prepare({ herald, traffic }, { seconds }) {
    const retrying: AddedEndpoint[] = [];
    while (retrying.length < RETRYING) retrying.push(await traffic.addEndpoint(`retrying-${retrying.length}`));
    const answerAfter = (afterMs: number) => Promise.all(retrying.map((endpoint) => endpoint.answer({ afterMs })));
    const endpointIds = retrying.map(({ id }) => id);
    const failed = { endpointIds, deliveries: RETRIES_OF_EACH, kind: "failed" as const };
    return {
      before: () => checkpoint(herald),
      async disturb(measure) {
        await answerAfter(ANSWER_AFTER_MS);
        const [steady] = await Promise.all([measure(), storeUnfinished(herald, failed)]);
        const soFar = await traffic.arrivals();
        await answerAfter(0);
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
};

/** Effects of one endpoint's trouble on all others. */
export const backlogRow = besideRow({
  name: "backlog",
  title: "Endpoints beside a backlog, and retries",
  conditions: `endpoints with a backlog or retries answer after ${ANSWER_AFTER_MS} ms, more or less a half`,
  disturbances: { backlog, retries },
});
