import { steeredClock } from "@herald/dev/harness/steered-clock";
import { expect, test } from "@jest/globals";
import type { Configuration } from "../sql/read-configuration.ts";
import { createEndpoints } from "./endpoint.ts";
import { KnownConfiguration } from "./known-configuration.ts";
import { createMemory } from "./memory.ts";

/** The endpoints of these organizations are used one after the other, which are called after them: "a1". @returns those that are forgotten */
function forgotten(max: number, uses: readonly string[], busy: readonly string[] = []): string[] {
  const dropped: string[] = [];
  const clock = steeredClock();
  const breaker = { pausesMs: [1_000], disableAfter: 5 };
  const shared = {
    clock,
    memory: createMemory(0, clock.monotonicMs),
    times: { nowMs: () => 0, isDue: () => false },
    gate: { concurrency: 10, ratePerSecond: undefined, breaker },
  };
  const endpoints = createEndpoints(shared, max, ({ id }) => void dropped.push(id));
  for (const id of uses) {
    const endpoint = endpoints.of(id, id.charAt(0));
    expect(endpoint.isGone).toBe(false);
    if (busy.includes(id)) endpoint.gate.begin({ manual: false });
  }
  expect(endpoints.all()).toHaveLength(new Set(uses).size - dropped.length);
  return dropped;
}

test.each([
  ["none as long as there is room", 3, ["a1", "b1", "b2", "a1"], []],
  ["its own, however long ago others were used", 4, ["a1", "b1", "c1", "d1", "d2", "d3"], ["d1", "d2"]],
  ["its own that were used longest ago", 3, ["a1", "d1", "d2", "d1", "d3", "d4"], ["d2", "d1"]],
  ["none of one that has fewer, also if it grows", 4, ["d1", "d2", "d3", "a1", "a2", "b1"], ["d1", "d2"]],
  ["the one that was used longest ago, if each has one", 3, ["a1", "b1", "c1", "a1", "d1", "e1"], ["b1", "c1"]],
])(
  "regression: beyond the number of endpoints that an owner knows, an organization pushes out %s",
  (_what, max, uses, expected) => {
    expect(forgotten(max, uses)).toEqual(expected);
  },
);

test("an endpoint with an attempt in flight is not forgotten", () => {
  expect(forgotten(3, ["d1", "d2", "d3", "d4", "d5"], ["d1"])).toEqual(["d2"]);
});

const NOW_MS = 1_000;
const read = (revision: bigint) => ({
  configuration: { revision } as Configuration,
  configuredAt: new Date(NOW_MS),
});

test("§2.3/current regression: what was read before a change is not current, even while the clock stands still", () => {
  const known = new KnownConfiguration();
  known.take(read(1n), known.changes);
  expect(known.current(NOW_MS)).toMatchObject({ revision: 1n });
  const beforeChange = known.changes;
  known.changed(NOW_MS);
  expect(known.current(NOW_MS)).toBeUndefined();
  known.take(read(1n), beforeChange);
  known.wasSeen("1", NOW_MS, true);
  expect(known.current(NOW_MS)).toBeUndefined();
  known.take(read(2n), known.changes);
  expect(known.current(NOW_MS)).toMatchObject({ revision: 2n });
});
