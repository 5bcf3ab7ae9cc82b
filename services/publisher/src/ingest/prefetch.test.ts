import { memorySettings } from "@herald/common/config/common-settings";
import { memoryBounds } from "@herald/common/service/memory";
import { MAX_EVENT_BYTES } from "@herald/contracts";
import { describe, expect, test } from "@jest/globals";
import { BEHIND_PREFETCH, prefetchOf } from "./prefetch.ts";

const BUCKETS = 16;
const inboxOf = (MEMORY_MIB?: number) => memoryBounds({ MEMORY_MIB }).inboxBytes;

describe("the prefetch of the inbox", () => {
  test.each([
    ["least", memorySettings.MEMORY_MIB.minimum],
    ["ordinary", 512],
    ["largest", memorySettings.MEMORY_MIB.maximum],
  ])(
    "events of the largest size fit into the inbox of the %s MEMORY_MIB, and each queue always has some",
    (_which, mib) => {
      const inboxBytes = inboxOf(mib);
      const { prefetch, spare } = prefetchOf(inboxBytes, BUCKETS);
      const most = BUCKETS * (prefetch + BEHIND_PREFETCH) + spare.consumers * spare.prefetch;
      expect(most * MAX_EVENT_BYTES).toBeLessThanOrEqual(inboxBytes);
      expect(prefetch).toBeGreaterThanOrEqual(1);
    },
  );

  test("of the ordinary MEMORY_MIB one busy queue has as much as makes it quick", () => {
    const { prefetch, spare } = prefetchOf(inboxOf(512), BUCKETS);
    expect(prefetch + spare.consumers * spare.prefetch).toBeGreaterThanOrEqual(250);
  });
});
