import { bareInsertsPerSecond } from "../bare-insert.ts";
import { barePublishesPerSecond } from "../bare-publish.ts";
import type { Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { fanOutWaiting } from "./waiting-events.ts";

const ENDPOINTS = 20;
/** As many as the bar asks for in a second. */
const EVENTS_A_SECOND = 8_000;
const WARM_UP_EVENTS = 20_000;
const BARE_SECONDS = 2;

/** How fast one publisher makes stored deliveries of events that wait in the broker, and sends their hints. */
export const fanOutRow: Row = {
  name: "fan-out",
  title: "Fan-out of one publisher",
  figures: {
    perSecond: { label: "events, stored with their deliveries and hinted", unit: "/s", bar: { atLeast: 8_000 } },
    bareInserts: { label: "rows of a bare unnest insert", unit: "/s" },
    barePublishes: { label: "bare confirmed publishes", unit: "/s" },
    ratio: { label: "events to the slower of the two", unit: "x" },
    hints: { label: "hints an event", unit: "" },
    publisherCpu: { label: "CPU an event, publisher", unit: "us" },
    publisherMemory: { label: "resident memory, publisher", unit: "MiB", bar: { atMost: 160 } },
    lost: { label: "deliveries that are missing", unit: "", bar: { atMost: 0 } },
  },
  async open(environment, { seconds, progress }) {
    const events = Math.round(EVENTS_A_SECOND * seconds);
    const services = ["publisher"] as const;
    const running = await startHerald(environment, { name: "fan-out", endpoints: ENDPOINTS, services });
    const { herald, traffic, close } = running;
    const publisher = running.service("publisher");
    progress("Warming up");
    await fanOutWaiting(herald, traffic, [publisher], Math.min(WARM_UP_EVENTS, events));
    return {
      conditions: {
        endpoints: ENDPOINTS,
        "deliveries an event": 1,
        "events waiting": events,
        "body bytes": SAMPLE_BODY.length,
        "rows a bare insert": 250,
        "bare publishes unconfirmed": 500,
      },
      async round() {
        const { serverCpu: _, ...measured } = await fanOutWaiting(herald, traffic, [publisher], events);
        const bareInserts = await bareInsertsPerSecond(herald.databaseUrl, BARE_SECONDS);
        const barePublishes = await barePublishesPerSecond(herald.amqpUrl, BARE_SECONDS);
        const ratio = measured.perSecond / Math.min(bareInserts, barePublishes);
        return { ...measured, bareInserts, barePublishes, ratio };
      },
      close,
    };
  },
};
