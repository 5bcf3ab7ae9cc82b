import { expect, test } from "@jest/globals";
import type { Configuration } from "../sql/read-configuration.ts";
import { KnownConfiguration } from "./known-configuration.ts";

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
