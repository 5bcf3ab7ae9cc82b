import { expect, test } from "@jest/globals";
import { planEvent } from "./events.ts";
import { planFaults } from "./faults.ts";
import { planOutages, planPauses, planTenants } from "./tenants.ts";

test("a seed repeats its plan, and another seed has another one", () => {
  const plan = (seed: number) => {
    const tenants = planTenants(seed);
    const events = [0, 1, 2].map((index) => planEvent(seed, index, tenants, new Date(0)));
    return {
      tenants,
      events,
      faults: planFaults(seed, 60),
      outages: planOutages(seed, 60),
      pauses: planPauses(seed, 60),
    };
  };
  expect(plan(7)).toEqual(plan(7));
  for (const part of ["tenants", "events", "faults", "outages", "pauses"] as const) {
    expect(plan(8)[part]).not.toEqual(plan(7)[part]);
  }
});

test("a run of a minute sees every kind of fault, in order and in time", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const faults = planFaults(seed, 60);
    expect(new Set(faults.map(({ kind }) => kind)).size).toBe(24);
    const times = faults.map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.at(-1)).toBeLessThan(60_000);
  }
});
