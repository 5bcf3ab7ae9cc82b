import type { Log } from "../telemetry/log.ts";

/** What the broker layer logs to. */
export type BrokerLog = Pick<Log, "debug" | "info" | "warn" | "error">;

/** Says once that something is down and once that it is back, however often it is tried in between. */
export interface Outages {
  down(what: string, error: Error): void;
  up(what: string): void;
}

export function logOutages(log: BrokerLog, where: Record<string, unknown>): Outages {
  const since = new Map<string, number>();
  return {
    down(what, error) {
      const fields = { ...where, what, reason: error.message };
      if (since.has(what)) {
        log.debug("broker: still down", fields);
        return;
      }
      since.set(what, performance.now());
      log.warn("broker: down; trying again until it is back", fields);
    },
    up(what) {
      const start = since.get(what);
      if (start === undefined) return;
      since.delete(what);
      log.info("broker: back", { ...where, what, downMs: Math.round(performance.now() - start) });
    },
  };
}
