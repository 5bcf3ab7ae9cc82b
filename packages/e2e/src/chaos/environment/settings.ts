import type { HeraldTuning } from "../../herald/in-process.ts";

/** Times that differ between scenarios. */
export interface ChaosTimes {
  attemptTimeoutMs: number;
  databaseTimeoutMs: number;
  /** Of RabbitMQ's connections: a dead peer shows after two to three of these. */
  heartbeatSeconds: number;
}

/** A quarter of an hour is over in as many seconds, and what is silent is noticed before the run ends. */
export const SHORT_TIMES: ChaosTimes = {
  attemptTimeoutMs: 2_000,
  databaseTimeoutMs: 3_000,
  heartbeatSeconds: 3,
};

/** Herald's own. Nothing may fail or come twice, so nothing may be too slow for this machine either, however busy it is. */
export const USUAL_TIMES: ChaosTimes = {
  attemptTimeoutMs: 15_000,
  databaseTimeoutMs: 30_000,
  heartbeatSeconds: 10,
};

const RETRY_DELAYS_SECONDS = [1, 2, 3, 4];
export const MAX_ATTEMPTS = RETRY_DELAYS_SECONDS.length + 1;
export const DISABLE_AFTER = 5;

/** Settings of the services: SPEC's delays shortened, and these times. */
export function chaosSettings({ attemptTimeoutMs, databaseTimeoutMs }: ChaosTimes): Record<string, string> {
  return {
    ATTEMPT_TIMEOUT_SECONDS: String(attemptTimeoutMs / 1_000),
    RETRY_DELAYS_SECONDS: RETRY_DELAYS_SECONDS.join(","),
    DISABLE_AFTER_FAILURES: String(DISABLE_AFTER),
    DATABASE_TIMEOUT_SECONDS: String(databaseTimeoutMs / 1_000),
    LOG_LEVEL: "info",
  };
}

/** Herald's intervals, and pauses that outlast the restart of a receiver but not the run. */
export const CHAOS_TUNING: HeraldTuning = {
  sweepIntervalMs: 500,
  catchUpIntervalMs: 500,
  noticeIntervalMs: 500,
  pausesMs: [1_000, 2_000, 4_000, 8_000],
};
