import { readFileSync } from "node:fs";
import {
  networkSettings,
  secretSettings,
  serviceSettings,
  sharedSettings,
  tracingSettings,
} from "@herald/common/config/common-settings";
import { type Environment, readConfig, readSetting } from "@herald/common/config/read-config";
import type { Settings } from "@herald/common/config/settings";
import type { Clock } from "@herald/common/runtime/clock";
import { addressRules } from "@herald/common/security/address-rules";
import { createNameResolver } from "@herald/common/security/name-resolver";
import { secretBox } from "@herald/common/security/secret-box";
import { createProbe } from "./attempt/probe.ts";
import { createSender } from "./attempt/sender.ts";
import { keepOpened } from "./delivery/opened-secrets.ts";
import { retrySchedule } from "./delivery/retry-schedule.ts";

/** A few megabytes of memory. */
const MAX_OPENED_SECRETS = 10_000;

/** The dispatcher's settings. Numbers that SPEC gives are defaults here. */
export const dispatcherSettings = {
  ...serviceSettings,
  ...secretSettings,
  ...networkSettings,
  ...tracingSettings,
  DNS_SERVERS: {
    type: "string",
    description:
      "Name servers to ask, as address or address:port, separated by commas; those of the system when absent.",
  },
  EXTRA_CA_FILE: {
    type: "string",
    description: "PEM file of certificate authorities that are trusted besides the system's.",
  },
  ATTEMPT_TIMEOUT_SECONDS: sharedSettings.ATTEMPT_TIMEOUT_SECONDS,
  RETRY_DELAYS_SECONDS: sharedSettings.RETRY_DELAYS_SECONDS,
  FAILING_AFTER_FAILURES: {
    type: "integer",
    default: 3,
    minimum: 1,
    maximum: 1000,
    description:
      "Consecutive failures after which the product is told that an endpoint is failing; fewer than disable it.",
  },
  DISABLE_AFTER_FAILURES: sharedSettings.DISABLE_AFTER_FAILURES,
  PATIENCE_SECONDS: {
    type: "string",
    default: "1,2,4,8",
    pattern: "^[0-9]+(\\.[0-9]+)?(,[0-9]+(\\.[0-9]+)?)*$",
    description:
      "Pauses of an endpoint after its first consecutive failure, after the second, and so on; the last one is that of all further ones.",
  },
  DELIVERY_CONCURRENCY: {
    type: "integer",
    default: 500,
    minimum: 1,
    maximum: 10_000,
    description:
      "Attempts that this process makes at once. Manual deliveries, and attempts that are slow, do not count.",
  },
  MANUAL_CONCURRENCY: {
    type: "integer",
    default: 100,
    minimum: 1,
    maximum: 10_000,
    description:
      "Attempts of manual deliveries that this process makes at once, slow ones apart; a tenth of it to one endpoint, a fifth for one organization.",
  },
  MAX_IN_FLIGHT: {
    type: "integer",
    default: 2000,
    minimum: 1,
    maximum: 100_000,
    description:
      "Attempts in flight at once, slow ones and manual deliveries included; a connection takes some 70 KB of memory.",
  },
  BODIES_MIB: {
    type: "integer",
    default: 32,
    minimum: 1,
    maximum: 4096,
    description: "Memory for the bodies of attempts in flight, those above 8 KiB; a delivery waits for its part of it.",
  },
  ENDPOINT_CONCURRENCY: sharedSettings.ENDPOINT_CONCURRENCY,
  ENDPOINT_RATE: {
    type: "number",
    minimum: 0.01,
    maximum: 100_000,
    description:
      "Attempts a second to one endpoint, over all dispatchers together; no limit where it isn't set. After a quiet time, those of one second come at once.",
  },
  DUE_SCAN_INTERVAL_SECONDS: {
    type: "number",
    default: 1,
    minimum: 0.05,
    maximum: 600,
    description: "Pause between two due scans: searches of PostgreSQL for deliveries that are due.",
  },
  CLAIM_LEASE_SECONDS: {
    type: "number",
    default: 60,
    minimum: 1,
    maximum: 3600,
    description:
      "When a claimed delivery is due again if its dispatcher died; longer than an attempt and its settlement.",
  },
  HEADER_PREFIX: sharedSettings.HEADER_PREFIX,
  STANDARD_WEBHOOKS: sharedSettings.STANDARD_WEBHOOKS,
} as const satisfies Settings;

/**
 * Reads the dispatcher's configuration, and makes what its settings describe.
 *
 * @throws ConfigError
 */
export function readDispatcherConfig(environment: Environment, clock: Clock) {
  const config = readConfig(dispatcherSettings, environment, ({ CLAIM_LEASE_SECONDS, ATTEMPT_TIMEOUT_SECONDS }) =>
    CLAIM_LEASE_SECONDS <= ATTEMPT_TIMEOUT_SECONDS
      ? ["CLAIM_LEASE_SECONDS: must be more than ATTEMPT_TIMEOUT_SECONDS"]
      : [],
  );
  const addresses = addressRules(config);
  const servers = config.DNS_SERVERS?.split(",").map((server) => server.trim());
  return {
    config,
    probe: readSetting("DNS_SERVERS", () => createProbe({ addresses, servers })),
    secrets: keepOpened(
      readSetting("SECRET_KEYS", () => secretBox(config.SECRET_KEYS)),
      MAX_OPENED_SECRETS,
    ),
    schedule: retrySchedule(milliseconds(config.RETRY_DELAYS_SECONDS)),
    patienceMs: milliseconds(config.PATIENCE_SECONDS),
    sender: readSetting("EXTRA_CA_FILE", () =>
      createSender({
        deadlineMs: config.ATTEMPT_TIMEOUT_SECONDS * 1_000,
        headerPrefix: config.HEADER_PREFIX,
        standardWebhooks: config.STANDARD_WEBHOOKS,
        addresses,
        resolve: createNameResolver({ servers }),
        extraCa: config.EXTRA_CA_FILE && readFileSync(config.EXTRA_CA_FILE, "utf8"),
        clock,
      }),
    ),
  };
}

function milliseconds(seconds: string): number[] {
  return seconds.split(",").map((each) => Number(each) * 1_000);
}
