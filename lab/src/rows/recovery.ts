import { setTimeout as sleep } from "node:timers/promises";
import { EXACTLY_ONCE, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import type { AddedEndpoint } from "../traffic.ts";
import { forgetDeliveries, storeUnfinished } from "./stored-backlog.ts";

const BACKLOG = 2_000;
const ANSWER_AFTER_MS = 50;
/** Of the dispatcher, by default. */
const ENDPOINT_CONCURRENCY = 10;
const FAILURES = 5;
const DISABLING_MS = 30_000;
/** The failures that disabled the endpoint are no part of what is counted: they come again long after. */
const RETRY_DELAYS_SECONDS = "3600,3600,3600,3600";
const PATIENCE_SECONDS = "0";

/** Whether a receiver that has just recovered is asked carefully, or gets all at once what gathered meanwhile. */
export const recoveryRow: Row = {
  name: "recovery",
  title: "A resumed endpoint with a backlog",
  figures: {
    beforeAnswer: { label: "requests at once, before the first answer", unit: "", bar: { atMost: 1 } },
    in100Ms: { label: "  in the first 100 ms", unit: "", bar: { atMost: ENDPOINT_CONCURRENCY } },
    in1S: { label: "  in the first second", unit: "", bar: { atMost: ENDPOINT_CONCURRENCY } },
    ever: { label: "  in all the time", unit: "", bar: { atMost: ENDPOINT_CONCURRENCY } },
    resumed: { label: "from the resume to the first request", unit: "ms" },
    perSecond: { label: "of the backlog, from the first request on", unit: "/s" },
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const settings = { dispatcher: { RETRY_DELAYS_SECONDS, PATIENCE_SECONDS } };
    const { herald, traffic, close } = await startHerald(environment, { name: "recovery", endpoints: 1, settings });
    const endpoint = await traffic.addEndpoint("recovering");
    const emitter = await traffic.addEmitter(endpoint);
    progress("Warming up");
    await emitter.emit(1_000);
    await traffic.untilReceived(1_000, endpoint);
    return {
      conditions: {
        "deliveries waiting": BACKLOG,
        "receiver answers after exactly": `${ANSWER_AFTER_MS} ms`,
        "disabled by failures": FAILURES,
        dispatchers: 1,
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        await endpoint.answer({ status: 500 });
        await untilDisabled(endpoint, () => emitter.emit(1));
        await storeUnfinished(herald, { endpointIds: [endpoint.id], deliveries: BACKLOG, kind: "new" });
        await endpoint.answer({ afterMs: ANSWER_AFTER_MS, exact: true });
        await traffic.reset();
        await endpoint.watch();
        const resumedAt = performance.now();
        await endpoint.admin.edit(endpoint.id, { enabled: true });
        await traffic.untilReceived(1, endpoint);
        const resumed = performance.now() - resumedAt;
        await sleep(seconds * 1_000);
        const seen = await endpoint.watched();
        await endpoint.answer({ afterMs: 0 });
        await traffic.untilReceived(BACKLOG, endpoint);
        const { differentOf, repeated } = await traffic.arrivals();
        await forgetDeliveries(herald);
        const most = (requests: typeof seen) => Math.max(...requests.map(({ atOnce }) => atOnce));
        return {
          beforeAnswer: most(seen.filter(({ answered }) => answered === 0)),
          in100Ms: most(seen.filter(({ atMs }) => atMs <= 100)),
          in1S: most(seen.filter(({ atMs }) => atMs <= 1_000)),
          ever: most(seen),
          resumed,
          perSecond: seen.length / ((seen.at(-1)?.atMs ?? Number.NaN) / 1_000),
          lost: BACKLOG - differentOf(endpoint),
          repeated,
        };
      },
      close,
    };
  },
};

/** Failures count if they follow one another. */
async function untilDisabled({ admin, id }: AddedEndpoint, emit: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + DISABLING_MS;
  for (let failures = 1; failures <= FAILURES; failures++) {
    await emit();
    while ((await admin.get(id)).consecutiveFailures < failures) {
      if (Date.now() > deadline) throw new Error(`${FAILURES} failures did not disable the endpoint in time.`);
      await sleep(50);
    }
  }
}
