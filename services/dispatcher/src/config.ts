import {
  networkSettings,
  secretSettings,
  serviceSettings,
  sharedSettings,
  tracingSettings,
} from "@herald/common/config/common-settings";
import type { Settings } from "@herald/common/config/settings";

/** The dispatcher's settings. Numbers that SPEC gives are defaults here. */
export const dispatcherSettings = {
  ...serviceSettings,
  ...secretSettings,
  ...networkSettings,
  ...tracingSettings,
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
  NEW_DELIVERY_CONCURRENCY: {
    type: "integer",
    default: 500,
    minimum: 1,
    maximum: 10_000,
    description: "First attempts of new deliveries that this process makes at once.",
  },
  MANUAL_CONCURRENCY: {
    type: "integer",
    default: 100,
    minimum: 1,
    maximum: 10_000,
    description: "First attempts of manual deliveries that this process makes at once.",
  },
  MAX_IN_FLIGHT: {
    type: "integer",
    default: 2000,
    minimum: 1,
    maximum: 100_000,
    description:
      "Attempts in flight from which slow ones hold up the new ones; a connection takes some 70 KB of memory.",
  },
  BACKLOG_CONCURRENCY: {
    type: "integer",
    default: 500,
    minimum: 1,
    maximum: 10_000,
    description: "Retries, and deliveries of busy endpoints, that this process attempts at once.",
  },
  ENDPOINT_CONCURRENCY: {
    type: "integer",
    default: 10,
    minimum: 1,
    maximum: 1000,
    description: "Attempts to one endpoint that this process has in flight at once.",
  },
  RETRY_INTERVAL_SECONDS: {
    type: "number",
    default: 1,
    minimum: 0.05,
    maximum: 600,
    description: "Pause between two looks for deliveries that are due.",
  },
  RETRY_PAGE_SIZE: {
    type: "integer",
    default: 50,
    minimum: 1,
    maximum: 1000,
    description: "Endpoints with due deliveries that one look finds; looks go on until all are found.",
  },
  HINT_GRACE_SECONDS: sharedSettings.HINT_GRACE_SECONDS,
  CLAIM_LEASE_SECONDS: {
    type: "number",
    default: 60,
    minimum: 1,
    maximum: 3600,
    description:
      "When a claimed delivery comes due again if its dispatcher ended without a word; longer than an attempt and its settlement.",
  },
  HEADER_PREFIX: sharedSettings.HEADER_PREFIX,
  STANDARD_WEBHOOKS: sharedSettings.STANDARD_WEBHOOKS,
} as const satisfies Settings;
