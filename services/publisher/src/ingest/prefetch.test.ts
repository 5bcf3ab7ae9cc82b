import { MAX_EVENT_BYTES } from "@herald/contracts";
import { describe, expect, test } from "@jest/globals";
import { publisherSettings } from "../config.ts";
import { prefetchOf } from "./prefetch.ts";

const QUEUES = 16;
const MIB = 1024 ** 2;

describe("the prefetch of the inbox", () => {
  test.each([
    ["least", publisherSettings.INBOX_MIB.minimum],
    ["ordinary", publisherSettings.INBOX_MIB.default],
    ["largest", publisherSettings.INBOX_MIB.maximum],
  ])("events of the largest size fit into the %s INBOX_MIB, and each queue always has some", (_which, mib) => {
    const { prefetch, spare } = prefetchOf(mib * MIB, QUEUES);
    expect((QUEUES * prefetch + spare.consumers * spare.prefetch) * MAX_EVENT_BYTES).toBeLessThanOrEqual(mib * MIB);
    expect(prefetch).toBeGreaterThanOrEqual(1);
  });

  test("of the ordinary INBOX_MIB one busy queue has as much as makes it quick", () => {
    const { prefetch, spare } = prefetchOf(publisherSettings.INBOX_MIB.default * MIB, QUEUES);
    expect(prefetch + spare.consumers * spare.prefetch).toBeGreaterThanOrEqual(250);
  });
});
