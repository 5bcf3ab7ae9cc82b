import { CONFIG_EXIT_CODE, ConfigError } from "../config/read-config.ts";
import type { Log } from "../telemetry/log.ts";
import { heraldVersion } from "../telemetry/metrics.ts";
import { collectAfterStart } from "./memory.ts";

export interface Service {
  log: Log;
  /** Resolves once PostgreSQL has answered and the broker has the service's queues. Before that, the service does what it can without them. */
  ready(): Promise<void>;
  /** Stops taking work, finishes what is under way, closes. */
  stop(): Promise<void>;
}

/** What `engines` of the services' package.json ask for: older ones lack functions that the services call. */
const LEAST_NODE = "22.15";

/** Says what to do if a program that was started by hand runs on an older Node; null if nothing. */
export function nodeFault(version: string): string | null {
  return LEAST_NODE.localeCompare(version, "en", { numeric: true }) > 0
    ? `This is Node ${version}: install ${LEAST_NODE} or later.`
    : null;
}

/** The most time of a stop, in milliseconds. Then the process ends with work unfinished, before the orchestrator kills it (after 30 s or more). */
const STOP_DEADLINE_MS = 20_000;

/**
 * Runs a service as this process: starts it, stops it on SIGTERM and SIGINT, and sets the exit code: 0 after a stop,
 * 78 for a configuration that can't be used, 1 for anything else that ended it.
 */
export async function runService(name: string, start: () => Promise<Omit<Service, "ready">>): Promise<void> {
  let service: Omit<Service, "ready"> | undefined;
  let stopRequested: NodeJS.Signals | undefined;
  let stopping = false;

  async function stop(signal: NodeJS.Signals): Promise<void> {
    stopRequested ??= signal;
    if (!service || stopping) return;
    stopping = true;
    service.log.info("stopping", { signal });
    setTimeout(() => {
      service?.log.error("the stop took too long; ending with work unfinished, which is due again later", {
        deadlineMs: STOP_DEADLINE_MS,
      });
      process.exit(1);
    }, STOP_DEADLINE_MS).unref();
    await service.stop();
    service.log.info("stopped");
    process.exit(0);
  }

  function crash(error: unknown): void {
    if (error instanceof ConfigError) {
      process.stderr.write(`${name} ${service ? "ends" : "can't start"}. ${error.message}\n`);
      process.exit(CONFIG_EXIT_CODE);
    }
    // As a cause it is written at once, also if PostgreSQL is away.
    if (service) service.log.error("the service failed and ends", { cause: error });
    else process.stderr.write(`${name} can't start: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  }

  process.on("SIGTERM", (signal) => void stop(signal).catch(crash));
  process.on("SIGINT", (signal) => void stop(signal).catch(crash));
  process.on("unhandledRejection", crash);
  process.on("uncaughtException", crash);
  try {
    const fault = nodeFault(process.versions.node);
    if (fault) throw new ConfigError([fault]);
    service = await start();
    collectAfterStart();
    service.log.info("started", { version: heraldVersion(), node: process.versions.node, pid: process.pid });
    if (stopRequested) await stop(stopRequested);
  } catch (error) {
    crash(error);
  }
}
