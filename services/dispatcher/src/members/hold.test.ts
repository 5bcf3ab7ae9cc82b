import { createRegistry } from "@herald/common/telemetry/metrics";
import { expect, test } from "@jest/globals";
import { createMetrics } from "../metrics.ts";
import { createHold } from "./hold.ts";

test("a restore is told once when it begins and once when it ends, and only its end lets claims begin again", async () => {
  const registry = createRegistry("test");
  const told: string[] = [];
  const log = { debug() {}, info() {}, warn: (line: string) => told.push(line), error() {}, isDebug: false };
  const hold = createHold({ metrics: createMetrics(registry), log, onEnd: () => told.push("claims begin") });
  const exported = async () => /^herald_attempts_held\S* (\d)$/m.exec(await registry.metrics())?.[1];

  hold.heard(false);
  expect([hold.isHeld(), told, await exported()]).toEqual([false, [], "0"]);
  hold.heard(true);
  hold.heard(true);
  expect([hold.isHeld(), told.length, await exported()]).toEqual([true, 1, "1"]);
  hold.heard(false);
  hold.heard(false);
  expect([hold.isHeld(), told.slice(1), await exported()]).toEqual([
    false,
    ["the restore has ended; deliveries go on", "claims begin"],
    "0",
  ]);
});
