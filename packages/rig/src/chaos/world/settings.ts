/** SPEC's and Herald's times, shortened so that what takes a quarter of an hour is over in as many seconds. */
export const ATTEMPT_TIMEOUT_MS = 2_000;
export const LEASE_MS = 8_000;
const RETRY_DELAYS_SECONDS = [1, 2, 3, 4];
export const MAX_ATTEMPTS = RETRY_DELAYS_SECONDS.length + 1;
export const DISABLE_AFTER = 5;

export const shortenedSettings: Record<string, string> = {
  ATTEMPT_TIMEOUT_SECONDS: String(ATTEMPT_TIMEOUT_MS / 1_000),
  CLAIM_LEASE_SECONDS: String(LEASE_MS / 1_000),
  RETRY_DELAYS_SECONDS: RETRY_DELAYS_SECONDS.join(","),
  DISABLE_AFTER_FAILURES: String(DISABLE_AFTER),
  DATABASE_TIMEOUT_SECONDS: "2",
  UNHINTED_AFTER_SECONDS: "3",
  RETRY_INTERVAL_SECONDS: "0.5",
  CATCH_UP_INTERVAL_SECONDS: "0.5",
  NOTICE_INTERVAL_SECONDS: "0.5",
  LOG_LEVEL: "info",
};

/** A dead peer shows after two to three of these; ten of them would be half a run. */
export const HEARTBEAT_SECONDS = 2;
