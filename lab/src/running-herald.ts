import type { ServiceName } from "@herald/e2e/herald/processes";
import type { BenchEnvironment } from "./environment.ts";
import { startTraffic } from "./traffic.ts";

export type RunningHerald = Awaited<ReturnType<typeof startHerald>>;

export interface RunningHeraldOptions {
  /** First part of the names of its database and its queues. */
  name: string;
  /** How many endpoints the traffic goes to. */
  endpoints: number;
  /** Environment variables of a service that differ from the defaults. */
  settings?: Partial<Record<ServiceName, Record<string, string>>>;
}

/** Starts a Herald of its own with one process of each service, and traffic through it. */
export async function startHerald(
  environment: BenchEnvironment,
  { name, endpoints, settings = {} }: RunningHeraldOptions,
) {
  const herald = await environment.openHerald(name);
  const start = (service: ServiceName) => herald.start(service, settings[service]);
  const api = await start("management-api");
  const processes = {
    "management-api": api,
    dispatcher: await start("dispatcher"),
    publisher: await start("publisher"),
  };
  const traffic = await startTraffic(environment, herald, { api, endpoints });
  return {
    herald,
    traffic,
    service: (name: ServiceName) => processes[name],
    async close() {
      await traffic.close();
      await herald.close();
    },
  };
}
