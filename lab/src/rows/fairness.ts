import { setTimeout as sleep } from "node:timers/promises";
import { besideRow } from "../beside-row.ts";

const HANGING = [0, 1];
const PER_SECOND = 200;
/** The hanging endpoints have filled their slots by then. */
const FILLING_SECONDS = 2;

/** What the healthy endpoints notice of a tenth of all endpoints that don't answer. */
export const fairnessRow = besideRow({
  name: "fairness",
  title: "Healthy endpoints while others hang",
  beside: "the healthy ones while 10 % hang",
  atMost: 1.2,
  endpoints: 20,
  perSecond: PER_SECOND,
  // A hanging attempt may end only when the round does: what times out is attempted again a minute later.
  maxSeconds: 10,
  conditions: { "of them hang": HANGING.length },
  async prepare({ traffic }) {
    return {
      async disturb(measure) {
        await traffic.hang(HANGING);
        await traffic.reset();
        const filling = await traffic.emitEvenly(PER_SECOND, FILLING_SECONDS);
        await sleep(500);
        const healthyOfFilling = await traffic.received();
        const steady = await measure();
        await traffic.hang([]);
        const expected = steady.emitted + filling - healthyOfFilling;
        await traffic.untilReceived(expected);
        const { different, repeated } = await traffic.arrivals();
        return { steady, lost: expected - different, repeated };
      },
    };
  },
});
