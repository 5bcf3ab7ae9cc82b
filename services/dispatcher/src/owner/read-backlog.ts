import { untilAnswered } from "@herald/common/database/queries";
import { shrinkingBatches } from "@herald/common/database/shrinking";
import { batcher } from "@herald/common/runtime/batcher";
import type { Basics } from "../basics.ts";
import type { BacklogPage, Reading } from "../endpoint/line.ts";
import { describeDeliveries } from "../sql/describe-deliveries.ts";
import { type Demand, markInterrupted, readDue } from "../sql/read-due.ts";

export type BacklogDemand = Demand & Reading;

const MAX_ENDPOINTS = 250;

const emptyPage = (): BacklogPage => ({ rows: [], deliveries: [] });

/**
 * Reads the backlog of endpoints, many of them with one statement. While PostgreSQL is out of reach, it waits and tries again. When an owner died,
 * up to `perEndpoint` rows of each may have been in flight.
 */
export function createReadBacklog(parts: Basics, perEndpoint: number): (demand: BacklogDemand) => Promise<BacklogPage> {
  const { queries, createProgress, clock, metrics, log } = parts;
  const progress = createProgress();
  const inBatches = shrinkingBatches(read, { max: MAX_ENDPOINTS, what: "readings of due deliveries", log, progress });

  const ask = <T>(statement: () => Promise<T>): Promise<T> =>
    untilAnswered(parts, "due deliveries can't be read; they wait for PostgreSQL", statement);

  async function read(demands: readonly BacklogDemand[]): Promise<[BacklogDemand, BacklogPage][]> {
    const marked = demands.filter(({ countInterruptions }) => countInterruptions);
    if (marked.length > 0) await mark(marked);
    const rows = await ask(() => readDue(queries, demands));
    const byEndpoint = new Map(demands.map((demand) => [demand.endpointId, { demand, page: emptyPage() }]));
    for (const row of rows) byEndpoint.get(row.endpointId)?.page.rows.push(row);
    const wanted = rows.filter((row) => byEndpoint.get(row.endpointId)?.demand.isWanted(row));
    const deliveries = await ask(() => describeDeliveries(queries, wanted));
    metrics.readBatchSize.observe(deliveries.length);
    for (const delivery of deliveries) byEndpoint.get(delivery.endpointId)?.page.deliveries.push(delivery);
    return [...byEndpoint.values()].map(({ demand, page }) => [demand, page]);
  }

  async function mark(demands: readonly BacklogDemand[]): Promise<void> {
    const ids = demands.map(({ endpointId }) => endpointId);
    metrics.interruptions.inc(await ask(() => markInterrupted(queries, ids, { perEndpoint, now: clock.now() })));
    // If a later statement has to be tried again, the interruption must not count twice.
    for (const demand of demands) demand.countInterruptions = false;
  }

  return batcher<BacklogDemand, BacklogPage>(
    async (demands) => {
      const { results, setAside } = await inBatches(demands);
      const pages = new Map(results);
      for (const { item, error } of setAside) {
        log.error("an endpoint's deliveries can't be read", { endpointId: item.endpointId, error });
      }
      return demands.map((demand) => pages.get(demand) ?? emptyPage());
    },
    { maxItems: MAX_ENDPOINTS, maxRunning: 2 },
  );
}
