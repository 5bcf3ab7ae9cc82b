import type { ServiceName, ServiceProcess } from "@herald/e2e/herald/processes";
import type { BenchEnvironment, BenchHerald } from "./environment.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

/** A Herald of its own with one process of each service that a row needs, and traffic through it. */
export interface RunningHerald {
  readonly herald: BenchHerald;
  readonly traffic: Traffic;
  /** The process of a service. @throws where the row does not run this service */
  service(name: ServiceName): ServiceProcess;
  close(): Promise<void>;
}

export interface RunningHeraldOptions {
  /** First part of the names of its database and its queues. */
  name: string;
  /** How many endpoints the traffic goes to. */
  endpoints: number;
  /** The services beside the management API, in the order of their start. Dispatcher and publisher unless said otherwise. */
  services?: readonly ServiceName[];
  /** Environment variables of a service that differ from the defaults. */
  settings?: Partial<Record<ServiceName, Record<string, string>>>;
}

export async function startHerald(
  environment: BenchEnvironment,
  { name, endpoints, services = ["dispatcher", "publisher"], settings = {} }: RunningHeraldOptions,
): Promise<RunningHerald> {
  const herald = await environment.openHerald(name);
  const start = (service: ServiceName) => herald.start(service, settings[service]);
  const processes = new Map<ServiceName, ServiceProcess>();
  const api = await start("management-api");
  processes.set("management-api", api);
  for (const service of services) processes.set(service, await start(service));
  const traffic = await startTraffic(environment, herald, { api, endpoints });
  return {
    herald,
    traffic,
    service(wanted) {
      const process = processes.get(wanted);
      if (!process) throw new Error(`The row ${name} runs no ${wanted}.`);
      return process;
    },
    async close() {
      await traffic.close();
      await herald.close();
    },
  };
}
