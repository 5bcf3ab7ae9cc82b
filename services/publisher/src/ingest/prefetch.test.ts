import { memorySettings } from "@herald/common/config/common-settings";
import { memoryBounds } from "@herald/common/service/memory";
import { MAX_EVENT_BYTES } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { BEHIND_PREFETCH, prefetchOf } from "./prefetch.ts";

const BUCKETS = 16;

test.each([
  ["least", memorySettings.MEMORY_MIB.minimum],
  ["ordinary", 512],
  ["largest", memorySettings.MEMORY_MIB.maximum],
])(
  "events of the largest size fit into the inbox of the %s MEMORY_MIB, and each queue always has some",
  (_which, MEMORY_MIB) => {
    const { inboxBytes } = memoryBounds({ MEMORY_MIB });
    const prefetch = prefetchOf(inboxBytes, BUCKETS);
    expect(BUCKETS * (prefetch + BEHIND_PREFETCH) * MAX_EVENT_BYTES).toBeLessThanOrEqual(inboxBytes);
    expect(prefetch).toBeGreaterThanOrEqual(1);
  },
);
