import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "@herald/e2e/statistics";
import { addManualEndpoints, deliverManually, floodManually } from "../manual-traffic.ts";
import type { Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import type { AddedEndpoint } from "../traffic.ts";
import { CROWD_SETTINGS, SLOW_ANSWER } from "./crowd.ts";
import { untilNothingIsDue } from "./stored-backlog.ts";

const FLOODERS = 2;
const OPEN_OF_EACH = 60;
const FILLING_MS = 2_500;
const WARM_UP_SECONDS = 2;
/** What is slow must still be at it when the measurement ends. */
const MAX_SECONDS = 10;

/** What an organization's manual delivery takes while two others keep many of theirs open. */
export const manualFloodRow: Row = {
  name: "manual-flood",
  title: "A manual delivery while two organizations flood theirs",
  figures: {
    aloneP50: { label: "half within, alone", unit: "ms" },
    besideP50: { label: "half within, while two organizations flood theirs", unit: "ms" },
    ratioP50: { label: "  the one to the other", unit: "x", bar: { atMost: 2 } },
    aloneP95: { label: "95 % within, alone", unit: "ms" },
    besideP95: { label: "95 % within, while two organizations flood theirs", unit: "ms" },
    ratioP95: { label: "  the one to the other", unit: "x", bar: { atMost: 2 } },
    failed: { label: "deliveries that did not succeed at once", unit: "", bar: { atMost: 0 } },
  },
  compared: { ratioP50: "shown", ratioP95: "shown" },
  async open(environment, options) {
    const seconds = Math.min(options.seconds, MAX_SECONDS);
    const settings = CROWD_SETTINGS;
    const { herald, traffic, close } = await startHerald(environment, { name: "manual-flood", endpoints: 1, settings });
    const endpoints = await addManualEndpoints(traffic);
    let organizations = 0;

    /** Of organizations that have made none in this minute. */
    async function addFlooded(): Promise<AddedEndpoint[]> {
      const flooded: AddedEndpoint[] = [];
      while (flooded.length < FLOODERS) {
        const endpoint = await traffic.addEndpoint(`flooded-${organizations++}`);
        await endpoint.answer(SLOW_ANSWER);
        flooded.push(endpoint);
      }
      return flooded;
    }

    options.progress("Warming up");
    await deliverManually(endpoints, WARM_UP_SECONDS);
    return {
      conditions: {
        "other organizations": FLOODERS,
        "deliveries that each keeps open, as far as the API lets it": OPEN_OF_EACH,
        "which are answered after exactly": `${SLOW_ANSWER.afterMs / 1_000} s`,
        "receiver answers after": "0 ms",
        "body bytes": SAMPLE_BODY.length,
        seconds,
      },
      async round() {
        const flooded = await addFlooded();
        const alone = await deliverManually(endpoints, seconds);
        const end = new AbortController();
        const flooding = Promise.all(flooded.map((other) => floodManually(other, OPEN_OF_EACH, end.signal)));
        await sleep(FILLING_MS);
        const beside = await deliverManually(endpoints, seconds);
        end.abort();
        for (const other of flooded) await other.answer({ afterMs: 0 });
        await flooding;
        await untilNothingIsDue(herald);
        const [aloneP50, aloneP95] = [quantile(alone.times, 0.5), quantile(alone.times, 0.95)];
        const [besideP50, besideP95] = [quantile(beside.times, 0.5), quantile(beside.times, 0.95)];
        return {
          aloneP50,
          besideP50,
          ratioP50: besideP50 / aloneP50,
          aloneP95,
          besideP95,
          ratioP95: besideP95 / aloneP95,
          failed: alone.failed + beside.failed,
        };
      },
      close,
    };
  },
};
