import { type Settings, serviceSettings, tracingSettings } from "@herald/common/config";

/** The publisher's settings. Numbers that SPEC gives are defaults here. */
export const publisherSettings = {
  ...serviceSettings,
  ...tracingSettings,
  EVENT_PREFETCH: {
    type: "integer",
    default: 1000,
    minimum: 1,
    maximum: 10_000,
    description: "Business events that this process holds at the most while they are stored.",
  },
  FAN_OUT_BATCH_SIZE: {
    type: "integer",
    default: 250,
    minimum: 1,
    maximum: 5_000,
    description: "Business events stored by one statement at the most.",
  },
  PUBLICATION_WINDOW_DAYS: {
    type: "number",
    default: 7,
    minimum: 0.01,
    maximum: 30,
    description: "How many days back events are delivered to an endpoint that missed them.",
  },
  UNHINTED_AFTER_SECONDS: {
    type: "number",
    default: 30,
    minimum: 1,
    maximum: 600,
    description: "How long a new delivery waits for its hint before the retry pass takes it.",
  },
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
  RETENTION_DAYS: {
    type: "number",
    default: 30,
    minimum: 0.01,
    maximum: 36_500,
    description:
      "How many days finished deliveries and events are kept; never less than a day longer than events may be delivered.",
  },
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
    description: "Deliveries or events that one statement of such a pass reads.",
  },
  NOTICE_INTERVAL_SECONDS: {
    type: "number",
    default: 1,
    minimum: 0.05,
    maximum: 600,
    description: "Pause between two looks for notices to publish.",
  },
} as const satisfies Settings;
