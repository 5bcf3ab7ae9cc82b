import { setTimeout as sleep } from "node:timers/promises";
import { readService } from "@herald/e2e/herald/readings";
import type { Disturbance } from "../beside-row.ts";
import type { BenchHerald } from "../environment.ts";
import { inDatabase } from "./stored.ts";

const HEALTH_TIMEOUT_MS = 30_000;

/** Another program holds the row of one of the endpoints: its health is late, and nothing else. */
export const locked: Disturbance = {
  beside: "while one endpoint's row is locked",
  atMost: 1.2,
  figures: {
    // A delivery that waits for the lock waits for seconds; those of one endpoint are too few for the 95th percentile.
    longest: { label: "longest way of an event meanwhile", unit: "ms", bar: { atMost: 1_000 } },
    healthRetries: { label: "tries to write that endpoint's health meanwhile", unit: "", bar: { atLeast: 1 } },
    health: { label: "its health is written, after the lock's end, within", unit: "ms", bar: { atMost: 3_000 } },
  },
  async prepare({ herald, traffic, service }) {
    const organizationId = traffic.organizationIds[0] as string;
    const dispatcher = service("dispatcher");
    const healthRetries = async () => (await readService(dispatcher)).counter("herald_health_retries_total");
    return {
      async disturb(measure) {
        // So its next success has something to write. Of an endpoint that has changed, dispatchers read its health.
        await setFailing(herald, organizationId);
        const retriesBefore = await healthRetries();
        const steady = await holdingRow(herald, organizationId, measure);
        const freeAt = performance.now();
        const retries = (await healthRetries()) - retriesBefore;
        await untilHealthy(herald, organizationId);
        const health = performance.now() - freeAt;
        // What waited for the lock comes now.
        await traffic.untilReceived(steady.emitted);
        const { different, repeated, delays } = await traffic.arrivals();
        return {
          steady: { ...steady, delays },
          lost: steady.emitted - different,
          repeated,
          figures: { longest: Math.max(...delays), healthRetries: retries, health },
        };
      },
    };
  },
};

async function setFailing(herald: BenchHerald, organizationId: string): Promise<void> {
  const statement = `
    update webhook_endpoint set failure_run = '{earlier/1}', consecutive_failures = 1, revision = revision + 1
    where organization_id = $1`;
  await inDatabase(herald, (client) => client.query(statement, [organizationId]));
}

/** The lock ends with the connection. */
function holdingRow<T>(herald: BenchHerald, organizationId: string, task: () => Promise<T>): Promise<T> {
  return inDatabase(herald, async (client) => {
    await client.query("begin");
    await client.query("select from webhook_endpoint where organization_id = $1 for update", [organizationId]);
    return await task();
  });
}

async function untilHealthy(herald: BenchHerald, organizationId: string): Promise<void> {
  const statement = "select from webhook_endpoint where organization_id = $1 and consecutive_failures = 0";
  await inDatabase(herald, async (client) => {
    const deadline = Date.now() + HEALTH_TIMEOUT_MS;
    while ((await client.query(statement, [organizationId])).rowCount === 0) {
      if (Date.now() > deadline) throw new Error("The endpoint's health was not written after the end of the lock.");
      await sleep(10);
    }
  });
}
