import { bareInsertsPerSecond } from "../bare-insert.ts";
import { barePublishesPerSecond } from "../bare-publish.ts";
import type { Row } from "../row.ts";
import { startWaitingEvents } from "./waiting-events.ts";

/** As many as the bar asks for in a second. */
const EVENTS_A_SECOND = 8_000;
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
  async open(environment, options) {
    const start = { name: "fan-out", eventsASecond: EVENTS_A_SECOND, ...options };
    const { herald, publisher, conditions, fanOut, close } = await startWaitingEvents(environment, start);
    return {
      conditions: {
        ...conditions,
        "rows a bare insert": 250,
        "bare publishes unconfirmed": 500,
      },
      async round() {
        const { serverCpu: _, ...measured } = await fanOut([publisher]);
        const bareInserts = await bareInsertsPerSecond(herald.databaseUrl, BARE_SECONDS);
        const barePublishes = await barePublishesPerSecond(herald.amqpUrl, BARE_SECONDS);
        const ratio = measured.perSecond / Math.min(bareInserts, barePublishes);
        return { ...measured, bareInserts, barePublishes, ratio };
      },
      close,
    };
  },
};
