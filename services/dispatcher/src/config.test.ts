import { readConfig } from "@herald/common/config/read-config";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { expect, test } from "@jest/globals";
import { DISPATCHER_TUNING, dispatcherSettings } from "./config.ts";

test("§8/timeout §8/attempts §8/delays §8/pass §8/polling §8/disabling SPEC's numbers are the dispatcher's defaults", () => {
  const environment = {
    HERALD_ENV: "development",
    DATABASE_URL: "postgresql://localhost/herald",
    AMQP_URL: "amqp://localhost",
    ...newSealingKeys("k1"),
  };
  // Retries have timers; a sweep finds work without a timer or message. SPEC allows a minute.
  expect(DISPATCHER_TUNING.sweepIntervalMs).toBeLessThan(60_000);
  const config = readConfig(dispatcherSettings, environment);
  expect(config).toMatchObject({
    ATTEMPT_TIMEOUT_SECONDS: 15,
    // Four retries after the first attempt: five attempts.
    RETRY_DELAYS_SECONDS: "60,120,240,480",
    DISABLE_AFTER_FAILURES: 5,
    HEADER_PREFIX: "X-Service",
  });
});
