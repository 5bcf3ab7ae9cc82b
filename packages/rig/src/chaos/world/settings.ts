/** Times that the verdict knows too. */
export interface RigTimes {
  attemptTimeoutMs: number;
  leaseMs: number;
}

const RETRY_DELAYS_SECONDS = [1, 2, 3, 4];
export const MAX_ATTEMPTS = RETRY_DELAYS_SECONDS.length + 1;
export const DISABLE_AFTER = 5;

/** SPEC's and Herald's times, shortened so that what takes a quarter of an hour is over in as many seconds. */
export function rigSettings({ attemptTimeoutMs, leaseMs }: RigTimes): Record<string, string> {
  return {
    ATTEMPT_TIMEOUT_SECONDS: String(attemptTimeoutMs / 1_000),
    CLAIM_LEASE_SECONDS: String(leaseMs / 1_000),
    RETRY_DELAYS_SECONDS: RETRY_DELAYS_SECONDS.join(","),
    DISABLE_AFTER_FAILURES: String(DISABLE_AFTER),
    DATABASE_TIMEOUT_SECONDS: "2",
    UNHINTED_AFTER_SECONDS: "3",
    RETRY_INTERVAL_SECONDS: "0.5",
    CATCH_UP_INTERVAL_SECONDS: "0.5",
    NOTICE_INTERVAL_SECONDS: "0.5",
    LOG_LEVEL: "info",
  };
}

/** A dead peer shows after two to three of these; ten of them would be half a run. */
export const HEARTBEAT_SECONDS = 2;
