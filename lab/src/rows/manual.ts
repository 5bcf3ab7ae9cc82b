import { Agent } from "node:https";
import { apiClient } from "@herald/e2e/herald/api-client";
import { median, quantile } from "@herald/e2e/statistics";
import { got } from "got";
import { diskFlushMs } from "../disk-flush.ts";
import type { Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";

const WARM_UP = 50;

/** What the way over the API, the broker and a dispatcher adds to a request that an admin waits for. */
export const manualRow: Row = {
  name: "manual",
  title: "A manual delivery",
  figures: {
    direct: { label: "the receiver alone, half within", unit: "ms" },
    throughHerald: { label: "through the management API, half within", unit: "ms" },
    added: { label: "added by Herald", unit: "ms", bar: { atMost: 10 } },
    p95: { label: "through the management API, 95 % within", unit: "ms" },
    flush: { label: "one flush of the disk, half within", unit: "ms" },
    failed: { label: "deliveries that did not succeed at once", unit: "", bar: { atMost: 0 } },
  },
  async open(environment, { seconds, progress }) {
    const settings = { "management-api": { MANUAL_DELIVERIES_PER_MINUTE: "100000" } };
    const { traffic, service, close } = await startHerald(environment, { name: "manual", endpoints: 1, settings });
    const admin = await apiClient(`http://127.0.0.1:${service("management-api").port}`, traffic.organizationIds[0], {
      keepAlive: true,
    });
    const [endpoint] = await admin.list();
    if (!endpoint) throw new Error("The endpoint of the traffic is missing.");
    const agent = new Agent({ keepAlive: true, ca: environment.ca });
    const client = got.extend({ agent: { https: agent }, retry: { limit: 0 } });

    async function pair() {
      const startedAt = performance.now();
      await client.post(traffic.receiverUrl, { body: SAMPLE_BODY });
      const between = performance.now();
      const summary = await admin.deliver(endpoint?.id ?? "", "WorkItemCompleted", SAMPLE_BODY);
      return { direct: between - startedAt, throughHerald: performance.now() - between, succeeded: summary.succeeded };
    }

    progress("Warming up");
    for (let index = 0; index < WARM_UP; index++) await pair();
    return {
      conditions: { "at once": 1, "receiver answers after": "0 ms", "body bytes": SAMPLE_BODY.length, seconds },
      async round() {
        const flush = await diskFlushMs();
        const pairs: Awaited<ReturnType<typeof pair>>[] = [];
        const end = performance.now() + seconds * 1_000;
        while (performance.now() < end) pairs.push(await pair());
        const direct = median(pairs.map((each) => each.direct));
        const times = pairs.map((each) => each.throughHerald);
        return {
          flush,
          direct,
          throughHerald: median(times),
          added: median(times) - direct,
          p95: quantile(times, 0.95),
          failed: pairs.filter((each) => !each.succeeded).length,
        };
      },
      async close() {
        agent.destroy();
        await close();
      },
    };
  },
};
