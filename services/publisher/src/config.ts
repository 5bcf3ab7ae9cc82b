import { serviceSettings, sharedSettings } from "@herald/common/config/common-settings";
import { eventTypeSettings } from "@herald/common/config/event-types";
import type { Settings } from "@herald/common/config/settings";
import type { MemoryBounds } from "@herald/common/service/memory";

/** The publisher's settings. Numbers that SPEC gives are defaults here. */
export const publisherSettings = {
  ...serviceSettings,
  ...eventTypeSettings,
  ENDPOINT_CONCURRENCY: sharedSettings.ENDPOINT_CONCURRENCY,
  PUBLICATION_WINDOW_DAYS: sharedSettings.PUBLICATION_WINDOW_DAYS,
  CATCH_UP_PAGE_SIZE: {
    type: "integer",
    default: 1000,
    minimum: 1,
    maximum: 10_000,
    description: "Events that one statement of a catch-up reads.",
  },
  RETENTION_DAYS: sharedSettings.RETENTION_DAYS,
} as const satisfies Settings;

/** Options of `startPublisher` that operators have no reason to change, but tests do. */
export const PUBLISHER_TUNING = {
  /** Business events that one statement stores at most. More take longer, and do not cost less each. */
  batchSize: 250,
  catchUpIntervalMs: 1_000,
  noticeIntervalMs: 1_000,
  retentionIntervalMs: 3_600_000,
  /** Bytes of events that are held at once, instead of the share of MEMORY_MIB. */
  bounds: {} as Partial<MemoryBounds>,
};
export type PublisherTuning = typeof PUBLISHER_TUNING;

/** Rows of the expired history, or of a deleted endpoint, that one statement may erase. */
export const ERASED_ROWS = 1_000;
