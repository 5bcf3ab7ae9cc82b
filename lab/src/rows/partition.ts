import { setTimeout as sleep } from "node:timers/promises";
import { isTooMuch } from "@herald/common/database/errors";
import { openDatabase } from "@herald/common/database/open-database";
import { dropPartitions } from "@herald/publisher/sql/partitions";
import { besideRow, type Disturbance, warmUp } from "../beside-row.ts";
import type { BenchHerald } from "../environment.ts";
import { sharedNow } from "../processes/busy.ts";
import { checkpoint, dayOf, storeFinishedDay } from "./stored.ts";

const DELIVERIES = 1_000_000;
/** Behind the window, so that publishers don't make that day, and within the retention, so that they don't drop it. */
const DAYS_AGO = 20;
/** Deliveries on their way during the drop: of a shorter time there are too few to have a 95th percentile. */
const DURING_MS = 1_000;
/** As the publisher: it waits very shortly for a lock, and pauses so long before it tries again. */
const PAUSE_MS = 200;
const MAX_TRIES = 50;

/** Retention's drop of a day, and the locks that it needs. */
const partition: Disturbance = {
  beside: "in the second of the drop",
  atMost: 1.5,
  figures: {
    drop: { label: "the drop", unit: "ms", bar: { atMost: 1_000 } },
    tries: { label: "tries, until the locks were free", unit: "" },
    longest: { label: "longest way of an event, in the second of the drop", unit: "ms" },
  },
  async prepare(running, { seconds, progress }) {
    const { herald, traffic } = running;
    const { organizationId } = (await traffic.addEndpoint("old")).admin;
    const day = dayOf(new Date(Date.now() - DAYS_AGO * 24 * 60 * 60_000));
    return {
      async before() {
        await storeFinishedDay(herald, { organizationId, deliveries: DELIVERIES, day, progress });
        await checkpoint(herald);
        // Storing took a minute, in which everything else was idle and the disk busy.
        await traffic.reset();
        await warmUp(running);
      },
      async disturb(measure) {
        const [steady, dropped] = await Promise.all([
          measure(),
          sleep(seconds * 200).then(() => dropOldDay(herald, day)),
        ]);
        await traffic.untilReceived(steady.emitted);
        const { different, repeated, delays, plannedAt } = await traffic.arrivals();
        const until = Math.max(dropped.from + DURING_MS, dropped.until);
        const during = delays.filter((_, index) => {
          const at = plannedAt[index] as number;
          return at >= dropped.from && at < until;
        });
        return {
          steady: { ...steady, delays: during },
          lost: steady.emitted - different,
          repeated,
          figures: { drop: dropped.took, tries: dropped.tries, longest: Math.max(...during) },
        };
      },
    };
  },
};

export const partitionRow = besideRow({
  name: "partition",
  title: "Dropping an old day",
  conditions: `that day has ${DELIVERIES.toLocaleString("en")} finished deliveries of another organization, each with its event and 1.05 attempts`,
  disturbances: { partition },
});

/**
 * Drops a day as retention does. The first try begins at `from`; the one that worked took so many milliseconds, and ended at
 * `until`.
 */
async function dropOldDay(herald: BenchHerald, day: string) {
  const database = openDatabase(herald.databaseUrl, { poolSize: 1 });
  try {
    await database.ping();
    const from = sharedNow();
    for (let tries = 1; ; tries++) {
      const startedAt = sharedNow();
      try {
        const isDropped = await dropPartitions(database.queries, { first: day });
        if (!isDropped) throw new Error(`The day ${day} has no partition.`);
        const until = sharedNow();
        return { from, until, took: until - startedAt, tries };
      } catch (error) {
        if (!isTooMuch(error) || tries === MAX_TRIES) throw error;
        await sleep(PAUSE_MS);
      }
    }
  } finally {
    await database.close();
  }
}
