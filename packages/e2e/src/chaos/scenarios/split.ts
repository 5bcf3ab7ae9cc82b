import { BUCKETS, bucketOf } from "@herald/common/broker/cell";
import { withClient } from "@herald/dev/stack/postgres";
import { type ReplicatedServers, startReplicatedServers } from "../environment/replicated.ts";
import type { ServedCell, ServersOptions } from "../environment/servers.ts";
import { USUAL_TIMES } from "../environment/servers.ts";
import { planTenantsOfAllBuckets } from "../plan/tenants.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { longestPauseAfter } from "../verdict/unnoticed.ts";
import type { Scenario } from "./scenario.ts";
import { heraldCommand, inEnvironment } from "./scenario.ts";

const [KEPT, GIVEN] = [BUCKETS.slice(0, 8), BUCKETS.slice(8)];
/** How long events are stored and not attempted before the split, so that each side has deliveries to wait for. */
const BACKLOG_MS = 1_500;
/** How long events go on after the split. */
const AFTERWARDS_MS = 3_000;

/** A Herald whose PostgreSQL has a standby, from which a second cell comes. */
interface SplitServers extends ReplicatedServers {
  /** Half of the processes belong to the second cell from now on, when they start again. */
  becomeTwo(): readonly [ServedCell, ServedCell];
}

/**
 * A cell is split by its standby under load, as docs/operating/cells.md says: its services stop, `herald split` makes two databases of
 * one, and half of the processes start as a second Herald. Nothing is lost, nothing comes twice, and each side has its own alone.
 */
export const splitScenario: Scenario = (options) =>
  inEnvironment(options, { startServers: startSplitServers, times: USUAL_TIMES }, async (environment, run) => {
    const { seed, seconds, pause, progress } = options;
    const { servers, services } = environment;
    const all = [...services.values()];
    const dispatchers = all.filter(({ label }) => label.startsWith("dispatcher"));
    const others = all.filter((service) => !dispatchers.includes(service));
    const measured = { waited: 0, stoppedMs: 0 };
    let cells: readonly ServedCell[] = [];

    async function disturb(): Promise<InjectedFault[]> {
      await pause((seconds * 1_000) / 2);
      progress("Stopping the cell");
      const from = Date.now();
      await Promise.all(dispatchers.map((service) => service.hold()));
      await pause(BACKLOG_MS);
      await Promise.all(others.map((service) => service.hold()));
      measured.waited = await count(servers.databaseUrl(), "select from due");
      progress("Splitting it");
      const said = await heraldCommand(
        environment,
        {
          DATABASE_URL: servers.databaseUrl().href,
          STANDBY_DATABASE_URL: servers.standbyUrl.href,
          INBOX_BUCKETS: KEPT.join(","),
          CELL: "a",
        },
        ...["split", GIVEN.join(",")],
      );
      measured.stoppedMs = Math.round(Number(/stopped for ([\d.]+) s/.exec(said)?.[1]) * 1_000);
      progress("Starting two cells");
      cells = servers.becomeTwo();
      for (const service of all) {
        const { name, buckets } = cells[service.label.endsWith("-1") ? 0 : 1] as ServedCell;
        service.runWith({ CELL: name, INBOX_BUCKETS: buckets.join(",") });
      }
      // One after the other: at once they would take each other's time to get ready.
      for (const service of all) {
        await service.resume();
        await service.ready();
      }
      const until = Date.now();
      await pause(AFTERWARDS_MS);
      return [{ kind: "cell-split", target: "postgres", from, until }];
    }

    const result = await run({ tenants: planTenantsOfAllBuckets(seed), outages: [], pauses: [], disturb });
    const { endpoints, requests, faults } = result.history;
    const [{ from, until }] = faults as [InjectedFault];
    const complaints: string[] = [];
    const { failedAttempts } = result.verdict.figures;
    if (failedAttempts > 0) complaints.push(`${failedAttempts} attempts failed, none for a reason of the receiver's`);
    if (measured.waited === 0) complaints.push("no delivery waited when the cell was split");
    const delivered: number[] = [];
    let astray = 0;
    for (const { name, buckets, databaseUrl } of cells) {
      const own = new Set(
        endpoints.flatMap((each) => (buckets.includes(bucketOf(each.organizationId)) ? [each.id] : [])),
      );
      const afterwards = requests.filter(({ at, endpointId }) => at > until && own.has(endpointId)).length;
      if (afterwards === 0) complaints.push(`cell ${name} delivered nothing after the split`);
      delivered.push(afterwards);
      astray += await countAstray(databaseUrl(), buckets, new Date(until));
    }
    if (astray > 0) complaints.push(`${astray} rows are in the database of the wrong cell`);
    const arrivals = requests.map(({ at }) => at);
    return {
      ...result,
      extra: {
        "dispatching stopped by the split, ms": measured.stoppedMs,
        "from the first service's end to the last one's start, ms": until - from,
        "longest pause in deliveries, ms": longestPauseAfter(arrivals, from, until),
        "deliveries that waited": measured.waited,
        "delivered by each cell afterwards": delivered.join(", "),
        "rows in the wrong database": astray,
      },
      complaints,
    };
  });

async function startSplitServers(options: ServersOptions): Promise<SplitServers> {
  const servers = await startReplicatedServers(options, false);
  const cells: ServedCell[] = [];
  return {
    ...servers,
    cells,
    becomeTwo() {
      const two = [
        { name: "a", buckets: KEPT, databaseUrl: servers.databaseUrl },
        { name: "b", buckets: GIVEN, databaseUrl: () => servers.standbyUrl },
      ] as const;
      cells.push(...two);
      return two;
    },
  };
}

/** Rows of organizations of other buckets: endpoints, what waits, and events and deliveries that came after the split. */
async function countAstray(databaseUrl: URL, buckets: readonly string[], since: Date): Promise<number> {
  const foreign = "left(encode(sha256(convert_to(organization_id, 'UTF8')), 'hex'), 1) <> all ($1)";
  return await count(
    databaseUrl,
    `select from webhook_endpoint where ${foreign}
     union all select from due where endpoint_id not in (select id from webhook_endpoint)
     union all select from business_event where received_at > $2 and ${foreign}
     union all select from delivery where created_at > $2 and ${foreign}`,
    [buckets, since],
  );
}

async function count(databaseUrl: URL, rows: string, values: unknown[] = []): Promise<number> {
  return await withClient(databaseUrl.href, async (client) => {
    const found = await client.query<{ count: number }>(`select count(*)::int as count from (${rows}) as row`, values);
    return found.rows[0]?.count ?? 0;
  });
}
