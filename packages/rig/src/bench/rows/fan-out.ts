import { setTimeout as sleep } from "node:timers/promises";
import { names } from "@herald/common/broker";
import { connect } from "amqplib";
import pg from "pg";
import { bareInsertsPerSecond } from "../bare-insert.ts";
import { barePublishesPerSecond } from "../bare-publish.ts";
import type { Site } from "../place.ts";
import type { Row } from "../row.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { readService } from "../service-readings.ts";
import { startTraffic } from "../traffic.ts";

const ENDPOINTS = 20;
/** As many as the bar asks for in a second. */
const EVENTS_A_SECOND = 8_000;
const WARM_UP_EVENTS = 20_000;
const BARE_SECONDS = 2;
const TIMEOUT_MS = 120_000;

/** How fast one publisher makes stored deliveries of events that wait in the broker, and has their hints confirmed. */
export const fanOutRow: Row = {
  name: "fan-out",
  title: "Fan-out of one publisher",
  figures: {
    perSecond: { label: "events, stored with their deliveries and hinted", unit: "/s", bar: { atLeast: 8_000 } },
    bareInserts: { label: "rows of a bare unnest insert", unit: "/s" },
    barePublishes: { label: "bare confirmed publishes", unit: "/s" },
    ratio: { label: "events to the slower of the two", unit: "x" },
    publisherCpu: { label: "CPU an event, publisher", unit: "us" },
    publisherMemory: { label: "resident memory, publisher", unit: "MiB", bar: { atMost: 160 } },
    lost: { label: "deliveries that are missing", unit: "", bar: { atMost: 0 } },
    repeated: { label: "hints beyond one a delivery", unit: "", bar: { atMost: 0 } },
  },
  async open(place, { seconds, progress }) {
    const events = EVENTS_A_SECOND * seconds;
    const site = await place.openSite("fan-out");
    const api = await site.start("management-api");
    const publisher = await site.start("publisher");
    const traffic = await startTraffic(place, site, { api, endpoints: ENDPOINTS });

    async function fanOut(count: number) {
      // It is held, rather than stopped, while events gather: starting is not what is measured here.
      process.kill(publisher.process.pid, "SIGSTOP");
      try {
        await traffic.emit(count);
      } finally {
        process.kill(publisher.process.pid, "SIGCONT");
      }
      const begun = performance.now();
      const before = await readService(publisher);
      const deadline = begun + TIMEOUT_MS;
      let after = before;
      while (hints(after) - hintsBefore < count) {
        if (performance.now() > deadline) throw new Error(`The publisher did not fan out ${count} events in time.`);
        await sleep(20);
        after = await readService(publisher);
      }
      const elapsedSeconds = (performance.now() - begun) / 1_000;
      const hinted = hints(after) - hintsBefore;
      hintsBefore = hints(after);
      return {
        perSecond: count / elapsedSeconds,
        publisherCpu: ((after.cpuSeconds - before.cpuSeconds) * 1_000_000) / count,
        publisherMemory: after.residentMebibytes,
        lost: count - (await takeDeliveries(site)),
        repeated: hinted - count,
      };
    }

    let hintsBefore = hints(await readService(publisher));
    progress("Warming up");
    await fanOut(WARM_UP_EVENTS);
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
        const measured = await fanOut(events);
        const bareInserts = await bareInsertsPerSecond(site.databaseUrl, BARE_SECONDS);
        const barePublishes = await barePublishesPerSecond(site.amqpUrl, BARE_SECONDS);
        const ratio = measured.perSecond / Math.min(bareInserts, barePublishes);
        return { ...measured, bareInserts, barePublishes, ratio };
      },
      async close() {
        await traffic.close();
        await site.close();
      },
    };
  },
};

function hints(reading: Awaited<ReturnType<typeof readService>>): number {
  return reading.counter("herald_hints_total", 'result="sent"');
}

/** Counts what was stored, and clears it and its hints away, so that the next round begins like this one. */
async function takeDeliveries(site: Site): Promise<number> {
  const client = new pg.Client({ connectionString: site.databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ count: number }>("select count(*)::int as count from delivery");
  await client.query("truncate delivery, delivery_attempt, business_event");
  await client.end();
  const broker = await connect(site.amqpUrl);
  const channel = await broker.createChannel();
  await channel.purgeQueue(names(site.namespace).firstHintsQueue);
  await broker.close();
  return rows[0]?.count ?? 0;
}
