import { openDatabase } from "@herald/common/database/open-database";
import { findDueEndpoints } from "@herald/dispatcher/sql/find-due-endpoints";
import { median } from "@herald/e2e/statistics";
import type { Row } from "../row.ts";
import { inDatabase, storeUnfinished } from "./stored-backlog.ts";
import { storeFinished } from "./stored-history.ts";

const DUE = 2_000;
const OTHERS = 8_000;
const WARM_UP = 20;
const ORGANIZATION = "organization";

/** What one look for due deliveries costs when many endpoints have some at once, as when a large customer comes back. */
export const lookRow: Row = {
  name: "look",
  title: "One look for due deliveries",
  figures: { look: { label: `finds ${DUE} endpoints, half within`, unit: "ms", bar: { atMost: 20 } } },
  async open(environment, { seconds, progress }) {
    const herald = await environment.openHerald("look");
    const database = openDatabase(herald.databaseUrl, { statementTimeoutMs: 600_000 });
    const close = async () => {
      await database.close();
      await herald.close();
    };
    /** From the beginning of time, as each minute. */
    async function look(): Promise<number> {
      const from = { now: new Date(), since: new Date(0), known: [], after: null, limit: DUE + OTHERS };
      const startedAt = performance.now();
      const { due } = await findDueEndpoints(database.queries, from);
      if (due.length !== DUE) throw new Error(`A look found ${due.length} endpoints instead of ${DUE}.`);
      return performance.now() - startedAt;
    }
    try {
      const endpoints = { endpoints: DUE, otherEndpoints: OTHERS };
      await storeFinished(herald, { organizationId: ORGANIZATION, ...endpoints, deliveries: 0, days: 1, progress });
      const own = "select id from webhook_endpoint where organization_id = $1";
      const { rows } = await inDatabase(herald, (client) => client.query<{ id: string }>(own, [ORGANIZATION]));
      await storeUnfinished(herald, { endpointIds: rows.map(({ id }) => id), deliveries: 1, kind: "failed" });
      await inDatabase(herald, (client) => client.query("vacuum analyze due"));
      for (let index = 0; index < WARM_UP; index++) await look();
    } catch (error) {
      await close();
      throw error;
    }
    return {
      conditions: { "endpoints with due deliveries": DUE, "other endpoints": OTHERS, seconds },
      async round() {
        const times: number[] = [];
        for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) times.push(await look());
        return { look: median(times) };
      },
      close,
    };
  },
};
