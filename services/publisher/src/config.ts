import { serviceSettings, sharedSettings, tracingSettings } from "@herald/common/config/common-settings";
import type { Settings } from "@herald/common/config/settings";

/** The publisher's settings. Numbers that SPEC gives are defaults here. */
export const publisherSettings = {
  ...serviceSettings,
  ...tracingSettings,
  INBOX_MIB: {
    type: "integer",
    default: 128,
    minimum: 16,
    maximum: 4096,
    description:
      "Memory for business events that this process holds while they are stored, in MiB; each may have 256 KiB. Three times it is enough for the process.",
  },
  FAN_OUT_BATCH_SIZE: {
    type: "integer",
    default: 250,
    minimum: 1,
    maximum: 5_000,
    description: "Business events stored by one statement at the most.",
  },
  ENDPOINT_CONCURRENCY: sharedSettings.ENDPOINT_CONCURRENCY,
  PUBLICATION_WINDOW_DAYS: sharedSettings.PUBLICATION_WINDOW_DAYS,
  CATCH_UP_PAGE_SIZE: {
    type: "integer",
    default: 1000,
    minimum: 1,
    maximum: 10_000,
    description: "Events that one statement of a catch-up reads.",
  },
  CATCH_UP_INTERVAL_SECONDS: {
    type: "number",
    default: 1,
    minimum: 0.05,
    maximum: 600,
    description: "Pause between two looks for endpoints that need a catch-up.",
  },
  RETENTION_DAYS: sharedSettings.RETENTION_DAYS,
  RETENTION_INTERVAL_SECONDS: {
    type: "number",
    default: 3600,
    minimum: 1,
    maximum: 86_400,
    description: "Pause between two passes that erase what is too old.",
  },
  RETENTION_PAGE_SIZE: {
    type: "integer",
    default: 1000,
    minimum: 1,
    maximum: 10_000,
    description: "Rows that one statement erases at the most, of what is too old or of a deleted endpoint.",
  },
  NOTICE_INTERVAL_SECONDS: {
    type: "number",
    default: 1,
    minimum: 0.05,
    maximum: 600,
    description: "Pause between two looks for notices to publish.",
  },
} as const satisfies Settings;
