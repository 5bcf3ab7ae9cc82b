import type { ServiceName, ServiceProcess } from "@herald/e2e/herald/processes";
import type { BenchEnvironment, BenchHerald } from "./environment.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

/** A Herald of its own with one process of each service, and traffic through it. */
export interface RunningHerald {
  readonly herald: BenchHerald;
  readonly traffic: Traffic;
  service(name: ServiceName): ServiceProcess;
  close(): Promise<void>;
}

export interface RunningHeraldOptions {
  /** First part of the names of its database and its queues. */
  name: string;
  /** How many endpoints the traffic goes to. */
  endpoints: number;
  /** Environment variables of a service that differ from the defaults. */
  settings?: Partial<Record<ServiceName, Record<string, string>>>;
}

export async function startHerald(
  environment: BenchEnvironment,
  { name, endpoints, settings = {} }: RunningHeraldOptions,
): Promise<RunningHerald> {
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
    service: (name) => processes[name],
    async close() {
      await traffic.close();
      await herald.close();
    },
  };
}
