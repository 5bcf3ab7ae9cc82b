import { createHash } from "node:crypto";
import { createInjector } from "../environment/inject.ts";
import { SHORT_TIMES, startServers } from "../environment/servers.ts";
import type { Load } from "../load.ts";
import { planFaults } from "../plan/faults.ts";
import { planOutages, planPauses, planTenants } from "../plan/tenants.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { inEnvironment, type Scenario } from "./scenario.ts";

/** Faults of every kind, at random, over hostile receivers and busy admins; the seed repeats all of it. */
export const faultsScenario: Scenario = (options) =>
  inEnvironment(options, { startServers, times: SHORT_TIMES }, async (environment, run) => {
    const { seed, seconds, pause } = options;
    const tenants = planTenants(seed);
    const outages = planOutages(seed, seconds);
    const pauses = planPauses(seed, seconds);
    const faults = planFaults(seed, seconds);

    async function disturb(load: Load): Promise<InjectedFault[]> {
      const { inject, injected } = createInjector({ ...environment, pause }, load);
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
