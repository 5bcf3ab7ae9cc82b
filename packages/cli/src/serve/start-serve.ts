import { type Environment, readConfig } from "@herald/common/config/read-config";
import { within } from "@herald/common/runtime/repeat";
import { openProcess, type StartOptions } from "@herald/common/service/open-process";
import type { Service } from "@herald/common/service/run-service";
import { type DispatcherTuning, dispatcherSettings, startDispatcher } from "@herald/dispatcher";
import {
  type ManagementApiTuning,
  managementApiSettings,
  problemsOfManagementApi,
  startManagementApi,
} from "@herald/management-api";
import { type PublisherTuning, publisherSettings, startPublisher } from "@herald/publisher";

const SERVICES = ["management-api", "publisher", "dispatcher"] as const;

/** A setting that several services read is the same for all of them: docs/configuration.md is made only where that is so. */
const serveSettings = { ...dispatcherSettings, ...publisherSettings, ...managementApiSettings };

/**
 * For how long a stop lets the dispatcher take the manual deliveries that requests under way still wait for. The rest of the 20 s
 * that a stop has is what its attempts in flight may need.
 */
const LAST_MANUAL_DELIVERIES_MS = 1_000;

/** Reads the settings of all three services. @throws ConfigError listing every problem of any of them */
export function readServeConfig(environment: Environment) {
  return readConfig(serveSettings, environment, problemsOfManagementApi);
}

/**
 * Starts the three services in this process. They share the connections to PostgreSQL and RabbitMQ and the operations port, and
 * nothing else: each works, waits and fails as it does in a process of its own.
 * @throws ConfigError; what a service throws that does not start, after the others have been stopped
 */
export async function startServe(
  environment: Environment = process.env,
  { clock, tuning }: Omit<StartOptions<DispatcherTuning & PublisherTuning & ManagementApiTuning>, "inProcess"> = {},
): Promise<Service & { port: number }> {
  const config = readServeConfig(environment);
  const inProcess = await openProcess(SERVICES, config);
  const options = { clock, tuning, inProcess };
  const running: Service[] = [];

  async function start<S extends Service>(name: (typeof SERVICES)[number], starting: Promise<S>): Promise<S> {
    const service = await starting;
    running.push(service);
    inProcess.markStarted(name);
    return service;
  }

  // An organization may hold a part of the pool that the API counts with. Two services need connections beside it, so that is half.
  const ofApi = { ...environment, DATABASE_POOL_SIZE: String(Math.ceil(config.DATABASE_POOL_SIZE / 2)) };
  const starting = [
    start("publisher", startPublisher(environment, options)),
    start("dispatcher", startDispatcher(environment, options)),
    start("management-api", startManagementApi(ofApi, options)),
  ] as const;
  const [publisher, dispatcher, api] = await Promise.all(starting).catch(async (error: unknown) => {
    await Promise.allSettled(starting);
    await Promise.all(running.map((service) => service.stop()));
    await inProcess.close();
    throw error;
  });

  return {
    log: inProcess.log,
    port: api.port,
    async ready() {
      await Promise.all(running.map((service) => service.ready()));
    },
    async stop() {
      const answered = api.stop();
      const stored = publisher.stop();
      await within(LAST_MANUAL_DELIVERIES_MS, answered);
      await Promise.all([answered, stored, dispatcher.stop()]);
      await inProcess.close();
    },
  };
}
