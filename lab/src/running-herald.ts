import type { ServiceName } from "@herald/e2e/herald/processes";
import type { BenchEnvironment } from "./environment.ts";
import { startTraffic } from "./traffic.ts";

export type RunningHerald = Awaited<ReturnType<typeof startHerald>>;

/** Environment variables of services that differ from the defaults. */
type Settings = Partial<Record<ServiceName, Record<string, string>>>;

/** Starts a Herald of its own with one process of each service, and traffic through it. Its database and its queues have names that begin with `name`. */
export async function startHerald(
  environment: BenchEnvironment,
  { name, endpoints, settings = {} }: { name: string; endpoints: number; settings?: Settings },
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
