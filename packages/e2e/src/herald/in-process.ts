import { startServe } from "@herald/cli/serve/start-serve";
import type { Clock } from "@herald/common/runtime/clock";
import type { Service } from "@herald/common/service/run-service";
import type { BrokerUrls } from "@herald/dev/stack/broker-rights";
import { type DispatcherTuning, startDispatcher } from "@herald/dispatcher";
import { type ManagementApiTuning, startManagementApi } from "@herald/management-api";
import { type PublisherTuning, startPublisher } from "@herald/publisher";
import { type HeraldEnvironment, heraldSettings } from "./settings.ts";

/** Values that tests set beside environment variables. Each service reads its own. */
export type HeraldTuning = Partial<DispatcherTuning & PublisherTuning & ManagementApiTuning>;

export interface HeraldOptions {
  clock?: Clock;
  /** Environment variables beside `heraldSettings`. */
  settings?: Record<string, string>;
  /** Beside short intervals. */
  tuning?: HeraldTuning;
  /** Whether a dispatcher starts with the others; true unless said otherwise. */
  dispatcher?: boolean;
  /** The same for a publisher. */
  publisher?: boolean;
  /** Whether the three services share a process, as `herald serve` has them; then there are a dispatcher and a publisher in any case. */
  asOne?: boolean;
}

/** The three services in the process of a test, so that it can steer their clock. */
export type Herald = Awaited<ReturnType<typeof startHerald>>;

/** Short intervals for tasks that run once a second or less often, so that tests do not wait. `newOwnerMs` is 0, since no dispatcher takes over a shard here. */
export const SHORT_INTERVALS: HeraldTuning = {
  newOwnerMs: 0,
  sweepIntervalMs: 50,
  catchUpIntervalMs: 50,
  noticeIntervalMs: 50,
};

export async function startHerald(servers: HeraldEnvironment, options: HeraldOptions = {}) {
  const environment = { ...heraldSettings(servers), ...options.settings };
  const settingsOf = (service: keyof BrokerUrls) => ({
    ...environment,
    ...(servers.serviceUrls && { AMQP_URL: servers.serviceUrls[service] }),
  });
  const parts = { clock: options.clock, tuning: { ...SHORT_INTERVALS, ...options.tuning } };
  const running = new Set<Service>();

  async function start<S extends Service>(service: Promise<S>): Promise<S> {
    const started = await service;
    running.add(started);
    // A hand-over before its owner has a queue is lost: its deliveries wait until the owner looks in PostgreSQL.
    await started.ready();
    return {
      ...started,
      async stop() {
        if (running.delete(started)) await started.stop();
      },
    };
  }

  async function startApi(
    own: Record<string, string> = {},
    tuning: HeraldTuning = parts.tuning,
  ): Promise<Service & { apiUrl: string }> {
    const settings = { ...settingsOf("management-api"), ...own };
    const api = await start(startManagementApi(settings, { ...parts, tuning }));
    return { ...api, apiUrl: `http://127.0.0.1:${api.port}` };
  }

  async function stop(services: readonly Service[]): Promise<void> {
    for (const service of services) running.delete(service);
    await Promise.all(services.map((service) => service.stop()));
  }

  let apiUrl: string;
  try {
    if (options.asOne) {
      const { port } = await start(startServe(environment, parts));
      apiUrl = `http://127.0.0.1:${port}`;
    } else {
      ({ apiUrl } = await startApi());
      if (options.publisher ?? true) await start(startPublisher(settingsOf("publisher"), parts));
      if (options.dispatcher ?? true) await start(startDispatcher(settingsOf("dispatcher"), parts));
    }
  } catch (error) {
    await stop([...running]);
    throw error;
  }
  const permanent = new Set(running);
  return {
    /** Without a path. */
    apiUrl,
    // These start one more of a service, which ends by its own `stop`, or with the others.
    startDispatcher: () => start(startDispatcher(settingsOf("dispatcher"), parts)),
    startPublisher: () => start(startPublisher(settingsOf("publisher"), parts)),
    startApi,
    /** Ends what was started one by one, and leaves what {@link startHerald} started. */
    stopAdditional: () => stop([...running].filter((service) => !permanent.has(service))),
    stop: () => stop([...running]),
  };
}
