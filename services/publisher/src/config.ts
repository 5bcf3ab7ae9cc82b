import { serviceSettings, sharedSettings, tracingSettings } from "@herald/common/config/common-settings";
import type { Settings } from "@herald/common/config/settings";
import type { MemoryBounds } from "@herald/common/service/memory";

/** The publisher's settings. Numbers that SPEC gives are defaults here. */
export const publisherSettings = {
  ...serviceSettings,
  ...tracingSettings,
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

/** What no operator could set better, and tests set: given to {@link startPublisher}. */
export interface PublisherTuning {
  /** Business events that one statement stores at the most. More take longer, and do not cost less each. */
  batchSize: number;
  /** Pauses between two looks: for endpoints that need a catch-up, for notices to publish, for what is too old. */
  catchUpIntervalMs: number;
  noticeIntervalMs: number;
  retentionIntervalMs: number;
  /** How much is held at once, in place of what follows from MEMORY_MIB. */
  bounds: Partial<MemoryBounds>;
}

export const PUBLISHER_TUNING: PublisherTuning = {
  batchSize: 250,
  catchUpIntervalMs: 1_000,
  noticeIntervalMs: 1_000,
  retentionIntervalMs: 3_600_000,
  bounds: {},
};

/** Rows that one statement erases at the most, of what is too old or of a deleted endpoint. */
export const ERASED_ROWS = 1_000;
