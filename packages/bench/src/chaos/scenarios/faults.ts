import { createHash } from "node:crypto";
import { planFaults } from "../plan/faults.ts";
import { planOutages, planPauses, planTenants } from "../plan/tenants.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { createInjector } from "../world/inject.ts";
import { startServers } from "../world/servers.ts";
import { SHORT_TIMES } from "../world/settings.ts";
import { inWorld } from "./in-world.ts";
import type { Scenario } from "./scenario.ts";

/** Faults of every kind, at random, over hostile receivers and busy admins; the seed repeats all of it. */
export const faultsScenario: Scenario = (options) =>
  inWorld(options, { startServers, times: SHORT_TIMES }, async (world, run) => {
    const { seed, seconds, pause } = options;
    const tenants = planTenants(seed);
    const outages = planOutages(seed, seconds);
    const pauses = planPauses(seed, seconds);
    const faults = planFaults(seed, seconds);

    async function disturb(): Promise<InjectedFault[]> {
      const { inject, injected } = createInjector({ ...world, pause });
      const begunAt = Date.now();
      const injecting: Promise<void>[] = [];
      for (const fault of faults) {
        await pause(begunAt + fault.atMs - Date.now());
        injecting.push(inject(fault));
      }
      await Promise.all(injecting);
      return injected;
    }

    const plan = createHash("sha256").update(JSON.stringify({ tenants, outages, pauses, faults })).digest("hex");
    const result = await run({ tenants, outages, pauses, disturb });
    return { ...result, extra: { plan: plan.slice(0, 12) }, complaints: [] };
  });
