import { bucketOf } from "@herald/common/broker/cell";
import { withClient } from "@herald/dev/stack/postgres";
import { USUAL_TIMES } from "../environment/settings.ts";
import { type CellServers, startCellServers } from "../environment/two-cells.ts";
import { planTenantsOfAllBuckets } from "../plan/tenants.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { inEnvironment } from "./in-environment.ts";
import type { Scenario } from "./scenario.ts";

/** How long the services of the killed cell stay away. */
const AWAY_MS = 2_000;

/**
 * Two Heralds share a broker, with eight buckets and a database each. In the middle of the load all services of the second one are
 * killed and come back. Nothing is lost, each organization's events are in its own database alone, and the first Herald is not held up
 * by the death of the second.
 */
export const cellsScenario: Scenario = (options) =>
  inEnvironment(options, { startServers: startCellServers, times: USUAL_TIMES }, async (environment, run) => {
    const { seed, seconds, pause, progress } = options;
    const { cells } = environment.servers;
    const killed = [...environment.services.values()].filter(({ label }) => label.endsWith("-2"));

    async function disturb(): Promise<InjectedFault[]> {
      await pause((seconds * 1_000) / 2);
      progress("Killing the second Herald");
      const from = Date.now();
      await Promise.all(killed.map((service) => service.kill(AWAY_MS)));
      await Promise.all(killed.map((service) => service.ready()));
      return killed.map(({ label }) => ({ kind: "kill", target: label, from, until: Date.now() }));
    }

    const result = await run({ tenants: planTenantsOfAllBuckets(seed), outages: [], pauses: [], disturb });
    const { endpoints, requests, faults } = result.history;
    const placed = await eventsPlaced(cells);
    const complaints: string[] = [];
    const { failedAttempts } = result.verdict.figures;
    if (failedAttempts > 0) complaints.push(`${failedAttempts} attempts failed, none for a reason of the receiver's`);
    for (const [index, { astray, stored }] of placed.entries()) {
      const { name } = cells[index] as CellServers["cells"][0];
      if (astray > 0)
        complaints.push(`the database of cell ${name} has ${astray} events of organizations of the other`);
      if (stored === 0) complaints.push(`the database of cell ${name} has no event`);
    }
    const [{ from, until }] = faults as [InjectedFault];
    const cellAt = (organizationId: string) =>
      cells.findIndex(({ buckets }) => buckets.includes(bucketOf(organizationId)));
    const ofFirst = new Set(endpoints.flatMap(({ id, organizationId }) => (cellAt(organizationId) === 0 ? [id] : [])));
    const meanwhile = requests.filter(
      ({ at, endpointId }) => at > from && at < until && ofFirst.has(endpointId),
    ).length;
    if (meanwhile === 0) complaints.push("the first Herald delivered nothing while the second one was away");
    return {
      ...result,
      extra: {
        "events in each database": placed.map((each) => each.stored).join(", "),
        "events in the wrong database": placed.reduce((sum, each) => sum + each.astray, 0),
        "the second Herald was away for, ms": until - from,
        "delivered by the first one meanwhile": meanwhile,
      },
      complaints,
    };
  });

/** For each cell how many events its database has, and how many of them belong to the other. */
async function eventsPlaced(cells: CellServers["cells"]): Promise<{ stored: number; astray: number }[]> {
  return await Promise.all(
    cells.map(({ databaseUrl, buckets }) =>
      withClient(databaseUrl().href, async (client) => {
        const { rows } = await client.query<{ organizationId: string; count: number }>(
          'select organization_id as "organizationId", count(*)::int as count from business_event group by 1',
        );
        const sumOf = (some: typeof rows) => some.reduce((sum, { count }) => sum + count, 0);
        const astray = rows.filter(({ organizationId }) => !buckets.includes(bucketOf(organizationId)));
        return { stored: sumOf(rows), astray: sumOf(astray) };
      }),
    ),
  );
}
