import { ARRIVAL } from "@herald/common/broker/arrival";
import {
  networkSettings,
  secretSettings,
  serviceSettings,
  sharedSettings,
} from "@herald/common/config/common-settings";
import { type Environment, readConfig, readSetting } from "@herald/common/config/read-config";
import type { Settings } from "@herald/common/config/settings";
import { addressRules } from "@herald/common/security/address-guard";
import { createNameResolver } from "@herald/common/security/name-resolver";
import { secretBox } from "@herald/common/security/secret-box";
import { authoritiesOf } from "@herald/common/security/tls-files";
import { type MemoryBounds, memoryBounds } from "@herald/common/service/memory";
import { keepOpened } from "./attempt/opened-secrets.ts";
import { retrySchedule } from "./endpoint/retry-schedule.ts";
import { createEgressProxy } from "./http/egress-proxy.ts";
import { createSender } from "./http/sender.ts";
import { createProbe } from "./outage/probe.ts";

/** A few megabytes of memory. */
const MAX_OPENED_SECRETS = 10_000;

/** The dispatcher's settings. Numbers that SPEC gives are defaults here. */
export const dispatcherSettings = {
  ...serviceSettings,
  ...secretSettings,
  ...networkSettings,
  DNS_SERVERS: {
    type: "string",
    description: "Name servers, as address or address:port, separated by commas; by default those of the system.",
  },
  EGRESS_PROXY_URL: {
    type: "string",
    secret: true,
    description:
      "HTTP proxy that carries every attempt (CONNECT), as http://user:password@host:port: one address for receivers' firewalls. The proxy may have a private address.",
  },
  EXTRA_CA_FILE: {
    type: "string",
    description:
      "PEM file of certificate authorities that receivers' certificates may come from besides those that Node trusts: its own list, and what NODE_EXTRA_CA_CERTS and --use-system-ca add to that.",
  },
  ATTEMPT_TIMEOUT_SECONDS: sharedSettings.ATTEMPT_TIMEOUT_SECONDS,
  RETRY_DELAYS_SECONDS: sharedSettings.RETRY_DELAYS_SECONDS,
  DISABLE_AFTER_FAILURES: sharedSettings.DISABLE_AFTER_FAILURES,
  ENDPOINT_CONCURRENCY: sharedSettings.ENDPOINT_CONCURRENCY,
  ENDPOINT_RATE: {
    type: "number",
    shared: true,
    minimum: 0.01,
    maximum: 100_000,
    description:
      "Attempts a second to one endpoint by all dispatchers together; by default no limit. After a quiet time, the attempts of one second may begin at once.",
  },
  HEADER_PREFIX: sharedSettings.HEADER_PREFIX,
  STANDARD_WEBHOOKS: sharedSettings.STANDARD_WEBHOOKS,
} as const satisfies Settings;

/** Values that no operator could set better, and tests set: an argument of `startDispatcher`. */
export const DISPATCHER_TUNING = {
  /** Pause between two sweeps: searches of PostgreSQL for work without a message. */
  sweepIntervalMs: 2_000,
  /** Pause between two writings of endpoints' rates. A crash loses the rates since the last one. */
  ratesIntervalMs: 60_000,
  newOwnerMs: ARRIVAL.newOwnerMs,
  maxEndpoints: 10_000,
  /** Pauses of an endpoint after its first consecutive failure, after the second, ...; the last one repeats. Together they outlast a machine's reboot. */
  pausesMs: [1_000, 5_000, 15_000, 60_000] as readonly number[],
  /** Bounds of memory, instead of those that follow from MEMORY_MIB. */
  bounds: {} as Partial<MemoryBounds>,
};
export type DispatcherTuning = typeof DISPATCHER_TUNING;

/** Consecutive failures after which the product is notified that an endpoint is failing, before it is disabled. */
export const FAILING_AFTER_FAILURES = 3;

/** Reads the dispatcher's configuration, and creates the parts that its settings describe. @throws ConfigError */
export function readDispatcherConfig(environment: Environment, own: Partial<DispatcherTuning> = {}) {
  const config = readConfig(dispatcherSettings, environment);
  const deadlineMs = config.ATTEMPT_TIMEOUT_SECONDS * 1_000;
  const tuning = { ...DISPATCHER_TUNING, ...own };
  const addresses = addressRules(config);
  const servers = config.DNS_SERVERS?.split(",").map((server) => server.trim());
  const proxyUrl = config.EGRESS_PROXY_URL;
  const proxy = proxyUrl === undefined ? undefined : readSetting("EGRESS_PROXY_URL", () => createEgressProxy(proxyUrl));
  const extraAuthorities = authoritiesOf("EXTRA_CA_FILE", config.EXTRA_CA_FILE);
  const bounds = { ...memoryBounds(config), ...tuning.bounds };
  return {
    ...tuning,
    config,
    bounds,
    probe: readSetting("DNS_SERVERS", () => createProbe({ addresses, servers, proxy })),
    secrets: keepOpened(
      readSetting("SECRET_KEYS", () => secretBox(config.SECRET_KEYS)),
      MAX_OPENED_SECRETS,
    ),
    schedule: retrySchedule(config.RETRY_DELAYS_SECONDS.split(",").map((seconds) => Number(seconds) * 1_000)),
    extraAuthorities,
    sender: createSender({
      deadlineMs,
      headerPrefix: config.HEADER_PREFIX,
      standardWebhooks: config.STANDARD_WEBHOOKS,
      addresses,
      resolve: createNameResolver({ servers }),
      extraAuthorities,
      proxy,
      maxConnections: bounds.inFlight,
    }),
  };
}
